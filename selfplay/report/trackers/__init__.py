"""Experiment trackers: where a run reports to, beside its own files."""
