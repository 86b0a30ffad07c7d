"""Special moves with rules of their own, a file a move. ``calls`` says when each is called."""
