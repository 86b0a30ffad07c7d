"""A stand-in for Dolphin: a program that libmelee starts as it starts the real one, with the mock as its game.

See ``docs/melee/internals/stand_in.md``. Only POSIX systems have the named pipes that it reads.
"""
