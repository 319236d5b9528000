"""The vocabulary of one machine that phases are written in.

Every function that changes something looks first whether it has to.
"""
