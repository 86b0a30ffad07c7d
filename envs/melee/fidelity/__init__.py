"""How closely the mock follows the real game, measured against replay files.

``follow`` gives the mock the memory that it would have, had it played what a replay shows; ``cover`` says which frames
the mock claims to repeat; ``windows`` lets the mock play on from every real frame and compares; ``hits`` compares what
a hit does; ``score`` puts it together.
"""
