"""What the verbs of text games do."""
