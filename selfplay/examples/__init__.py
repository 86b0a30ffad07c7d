"""Examples of the documents: a game of one's own, and the self-play loop in one script."""
