"""Compiled rules as one WebAssembly module, made by Numba and llvmlite alone (see ``docs/browser_rules.md``)."""
