"""How closely the mock reproduces the real game, measured on replay files.

``reconstruct`` derives the mock's memory from a replay; ``coverage`` lists the actions that the mock claims to
reproduce; ``windows`` plays on from every frame of a replay and compares; ``hits`` compares single hits; ``score``
combines the results.
"""
