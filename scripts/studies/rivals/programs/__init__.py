"""Programs that train on the mock with a trainer of others; each needs that trainer, ``envs`` and nothing else."""
