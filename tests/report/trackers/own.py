"""Trackers of one's own."""

import threading
from typing import ClassVar

from selfplay import Tracker


class Kept(Tracker):
    """Remembers the calls."""

    def __init__(self):
        self.calls = []

    def start(self, run):
        self.calls.append(("start", run.name))
        return f"records of {run.id} are here"

    def metrics(self, step, values):
        self.calls.append(("metrics", step, values))

    def table(self, step, name, columns, rows):
        self.calls.append(("table", step, name, columns, rows))

    def policy(self, step, name, folder):
        self.calls.append(("policy", step, name, folder))

    def close(self):
        self.calls.append(("close",))


class Broken(Kept):
    """Raises at each table."""

    def table(self, step, name, columns, rows):
        super().table(step, name, columns, rows)
        raise OSError("no room")


class Hopeless(Kept):
    """Cannot start."""

    def start(self, run):
        raise SystemExit(1)


class Hanging(Kept):
    """Hangs in its first record until ``release`` is set."""

    def __init__(self):
        super().__init__()
        self.busy, self.release = threading.Event(), threading.Event()

    def metrics(self, step, values):
        self.busy.set()
        self.release.wait()
        super().metrics(step, values)


class Unmakeable(Tracker):
    def __init__(self, project):
        self.project = project


NOT_ONE = Kept()


class Shared(Tracker):
    """Remembers the calls of all that were made."""

    calls: ClassVar = []

    def start(self, run):
        self.calls.append(("start", run.id, run.resumed_at, run.config["run"]["num_games"]))

    def metrics(self, step, values):
        self.calls.append(("metrics", step))

    def policy(self, step, name, folder):
        self.calls.append(("policy", step, name, (folder / "policy.json").is_file()))

    def close(self):
        self.calls.append(("close",))
