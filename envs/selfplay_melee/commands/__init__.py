"""What the verbs of fights do."""
