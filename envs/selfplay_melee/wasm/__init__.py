"""Compiled rules as one WebAssembly module, made by Numba and llvmlite alone.

See ``docs/melee/internals/browser_rules.md``.
"""
