"""A fight as numbers that can be drawn, and its pictures.

``film`` has the fight frame by frame, from a replay file or recorded from a mock game; ``scene`` says what to draw on
each frame; ``picture`` draws it. ``picture`` and ``overlay`` need Pillow, the others do not.
"""
