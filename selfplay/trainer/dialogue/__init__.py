"""Games of words: what the scripts do."""
