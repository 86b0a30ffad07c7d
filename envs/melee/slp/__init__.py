"""Reading and writing .slp replay files; the interface is ``envs.melee.replay``."""
