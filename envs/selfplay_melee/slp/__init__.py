"""Reading and writing .slp replay files; the interface is ``selfplay_melee.replay``."""
