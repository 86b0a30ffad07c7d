"""Training runs that are killed (SIGKILL) again and again, and what must be true of what they leave behind."""
