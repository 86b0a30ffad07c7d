"""Watching a fight: as a GIF, an MP4, a page for browsers, or in the terminal.

``film`` has the fight frame by frame, from a replay file or recorded from a mock game; ``scene`` says what is to be
drawn on each frame; ``picture`` (with Pillow) and ``page`` (as data for the script in ``player/``) draw the same scene.
"""
