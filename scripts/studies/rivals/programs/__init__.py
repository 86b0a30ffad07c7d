"""Programs that train on the mock with a trainer of others; each needs that trainer, the games and nothing else."""
