"""Real Melee: Slippi Dolphin, driven by libmelee (the extra ``dolphin``)."""
