"""The steps that operations are made of, one file each."""
