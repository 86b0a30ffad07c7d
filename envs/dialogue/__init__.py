"""Games of words: two seats take turns in writing."""
