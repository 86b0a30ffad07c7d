"""How closely the mock reproduces the real game, measured on replay files.

``reconstruct`` derives the mock's memory from a replay; ``coverage`` lists the actions that the mock claims to
reproduce; ``windows`` plays on from every frame of a replay and compares, ``landings`` picks the landings of that;
``contacts`` compares which attacks connect, ``hits`` what a hit does. ``measure`` does all of it for one replay,
``folds`` with tables fitted on others. ``figures`` and ``groups`` combine files; ``report`` and
``table`` show the results.
"""
