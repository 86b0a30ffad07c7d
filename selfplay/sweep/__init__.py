"""Sweeps: settings by seeds, each a run of the trainer in a process of its own, judged by strength.

See docs/trainer/sweeps.md.
"""
