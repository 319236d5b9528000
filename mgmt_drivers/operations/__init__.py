"""The LCM operations, a module each: who is logged in to, which phases run on whom, and why."""
