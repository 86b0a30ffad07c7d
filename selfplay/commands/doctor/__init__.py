"""Whether this machine has what training needs: the checks behind ``scripts/doctor.py``.

Importing it takes the standard library alone, so that it can report what is missing.
"""
