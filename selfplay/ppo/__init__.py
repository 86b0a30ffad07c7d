"""PPO on games with actions by number: agents, population, batches, rating games."""
