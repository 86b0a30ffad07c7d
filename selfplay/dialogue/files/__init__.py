"""Self-play through files: games are written down, made into rows, and trained from."""
