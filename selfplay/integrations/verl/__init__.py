"""For verl 0.9: an agent loop that plays both seats, rewards, a configuration, and scripts that start it."""
