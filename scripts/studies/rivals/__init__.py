"""Benchmarks against other trainers on the same game; each runs in a virtual environment of its own."""
