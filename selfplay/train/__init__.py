"""The trainer. ``selfplay.train(...)`` calls ``selfplay.api.train``: the name is that of this package, too."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfplay.api import Run


class _Train(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Run:  # noqa: ANN401
        """See ``selfplay.api.train``."""
        from selfplay.api import train

        return train(*args, **kwargs)


sys.modules[__name__].__class__ = _Train
