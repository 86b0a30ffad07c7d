"""Watching a fight: as a GIF, a page for browsers, or in the terminal.

``envs.melee.drawing.picture`` (with Pillow) and ``page`` (as data for the script in ``player/``) draw the same scene,
of ``envs.melee.drawing``.
"""
