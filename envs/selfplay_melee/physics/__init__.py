"""Rules of the mock fighter: scalar, for one game, compiled by Numba (see ``docs/melee/internals/mock_melee.md``)."""

RULES_VERSION = 7  # part of every rating's settings: raise it when a rule or a table changes
