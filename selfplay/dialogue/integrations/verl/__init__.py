"""Integration with verl 0.9: agent loop, rewards, configuration and start scripts."""
