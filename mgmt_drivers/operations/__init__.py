"""The LCM operations, a module each: the machines to log in to, the phases, and their order.

An operation raises MgmtDriverError, naming machine, phase and cause, and a retry goes on. Functions
that validate a request raise ParameterError, with every error.
"""
