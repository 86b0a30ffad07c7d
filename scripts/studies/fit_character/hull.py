from __future__ import annotations


def fit_hulls(replays):
    return {}
