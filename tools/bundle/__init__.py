"""Makes the bundle: one file with all that the machines of clusters install without internet."""
