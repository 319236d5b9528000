"""The dry run of an operation: what the drivers would do, told without doing it."""
