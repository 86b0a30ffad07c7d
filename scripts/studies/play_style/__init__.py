"""How people play, beside how players of the mock play: the same statistics of recorded frames for both.

``openings`` finds the openings of a game, ``statistics`` counts, ``columns`` gathers games.
"""
