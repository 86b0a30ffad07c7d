"""Watching a fight: as a GIF, a page for browsers, or in the terminal.

``selfplay_melee.drawing.picture`` (with Pillow) and ``page`` (as data for the script in ``player/``) draw the same
scene, of ``selfplay_melee.drawing``.
"""
