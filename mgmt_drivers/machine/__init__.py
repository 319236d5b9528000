"""One machine: its files, packages, units, runtime, interfaces and clock."""
