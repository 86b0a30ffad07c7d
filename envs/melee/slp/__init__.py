"""The parts of reading and writing .slp replay files; ``envs.melee.replay`` is what others use."""
