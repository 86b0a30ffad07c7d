"""A link whose other end is in this process; what crosses is no more than what could cross between machines."""

import json

import numpy as np

from selfplay.errors import RunnerError


def crossed(value):
    """A value as it arrives: documents as JSON, arrays as views that cannot be written to."""
    if isinstance(value, tuple):
        return tuple(crossed(part) for part in value)
    if isinstance(value, dict) and value and all(isinstance(part, np.ndarray) for part in value.values()):
        return {name: read_only(array) for name, array in value.items()}
    if isinstance(value, dict) and value and all(isinstance(part, bytes) for part in value.values()):
        return dict(value)
    return json.loads(json.dumps(value))


def read_only(array):
    view = array.copy()
    view.setflags(write=False)
    return view


class Shared:
    """What ``put`` gives in place of a value."""

    def __init__(self, value):
        self.value = crossed(value)


class LocalLink:
    """Calls an object here (``block_client.Link``), and counts what is sent."""

    def __init__(self, served):
        self._served = served
        self._severed = False
        self.sent = []  # (method, how many shared values)
        self.closed = False

    def ready(self):
        pass

    def call(self, method, *arguments):
        if self._severed:
            raise RunnerError("severed")
        self.sent.append((method, sum(isinstance(argument, Shared) for argument in arguments)))
        arrived = [argument.value if isinstance(argument, Shared) else crossed(argument) for argument in arguments]
        return crossed(getattr(self._served, method)(*arrived))

    def sever(self):
        self._severed = True

    def close(self):
        self.closed = True
