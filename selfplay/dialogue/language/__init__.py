"""Language models as players: what they read, how they write, and how likely they write it."""
