"""Checks of this machine for training, run by ``selfplay doctor``.

The package imports only the standard library, so that it can report missing dependencies.
"""
