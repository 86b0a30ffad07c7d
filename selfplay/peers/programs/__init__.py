"""Programs that train on the mock with a trainer of others. Each needs that trainer, ``envs`` and nothing else of ours."""
