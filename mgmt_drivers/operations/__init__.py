"""The LCM operations, a module each: the machines to log in to, the phases, and their order."""
