"""The vocabulary of one machine that phases are written in.

Every function looks first and returns whether it changed anything.
"""
