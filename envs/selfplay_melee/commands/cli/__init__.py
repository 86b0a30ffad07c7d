"""One module for each verb of fights."""
