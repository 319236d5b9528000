"""What the registry driver costs over the same commands given by hand."""
