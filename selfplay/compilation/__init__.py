"""Compiled rules: the decorators, the cache of machine code, and the notice while they compile. No torch."""
