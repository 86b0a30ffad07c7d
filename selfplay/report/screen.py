"""Lines above a live view, kept so that they can be printed again after the terminal is resized."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import ConsoleRenderable, RenderHook
from rich.control import Control
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

KEPT: Final = 200  # lines


class Scrollback(RenderHook):
    """The last lines above the view. It starts before the view's ``Live`` and ends after it.

    When its size changes, a terminal may wrap or cut the lines of the old view, so their positions are unknown. The
    screen is therefore cleared and the last lines are printed again.

    Args:
        console: where the view is.
        view: the view as it is now.
    """

    def __init__(self, console: Console, view: Callable[[], RenderableType]) -> None:
        self._console = console
        self._view = view
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._size = console.size

    def print(self, text: str) -> None:
        self._lines += text.split("\n")
        self._console.print(Text(text), soft_wrap=True)

    def start(self) -> None:
        self._size = self._console.size
        self._console.push_render_hook(self)

    def stop(self) -> None:
        self._console.pop_render_hook()

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        size = self._console.size
        if size == self._size:
            return renderables
        self._size = size
        room = size.height - len(self._console.render_lines(self._view()))
        last: list[ConsoleRenderable] = []
        for line in reversed(self._lines):
            room -= max(1, -(-cell_len(line) // size.width))
            if room < 0:
                break
            last.insert(0, Text(line))
        return [Control.home(), Control.clear(), *last, *renderables]
