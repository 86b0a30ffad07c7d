"""A disk that is full for a while."""

import errno
import os

WRITING = ("write", "fsync", "mkdir", "rename")


class Disk:
    """Refuses operations on files, by name, while it is full; everything else works."""

    def __init__(self, monkeypatch, *operations):
        self.full = False
        for name in operations:
            monkeypatch.setattr(os, name, self._refusing(getattr(os, name)))

    def fill(self, *_):
        self.full = True

    def empty(self, *_):
        self.full = False

    def _refusing(self, real):
        def operation(*arguments, **keywords):
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **keywords)

        return operation
