"""A cell as a training answers, and as it is stored."""

from scripts.studies.equilibrium.cells import Cell


def point(seconds, last, average=None, steps=1000):
    return {"seconds": seconds, "steps": steps, "last": last, "average": average}


def answer(points=None):
    """What the process of a training prints."""
    return {
        "spiel": "kuhn_poker",
        "nodes": 58,
        "information_states": 12,
        "source": "pyspiel",
        "settings": {"learning_rate": 0.1},
        "versions": {"open_spiel": "2.0.2"},
        "uniform": 0.9167,
        "points": points or [point(150.0, 0.75, 0.5), point(600.0, 0.4, 0.25, 2_000_000)],
    }


def cell(points=None, **changes):
    about = {"game": "kuhn_poker", "method": "cfr", "seed": 0, "minutes": 10.0}
    here = {"date": "2030-01-02", "processor": "a processor", "cores": 2, "command": "python -m study"}
    return Cell(**{**about, **answer(points), **here, **changes})
