"""Checks of this machine for training, run by ``scripts/doctor.py``.

The package imports only the standard library, so that it can report missing dependencies.
"""
