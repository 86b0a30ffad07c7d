"""Reports of the training of text games."""
