"""The dry run of an operation: predicts the changes of the drivers, and changes nothing."""
