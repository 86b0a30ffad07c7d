"""Play pages of several generations of a run, one file each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.commands.play.content import CHARACTERS, Home, play_content
from selfplay.report.fight.saving import check_writable, save_text
from selfplay.report.play_page.page import play_page

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir


def write_play_pages(
    run: RunDir, generations: Sequence[str], folder: Path, notify: Callable[[str], None], least: int = CHARACTERS
) -> dict[str, Path]:
    """Write ``FOLDER/gen_N.html`` for each of these generations; the pages by generation.

    Each page is complete in itself: the rules and figures in it are some 0.7 MB.

    Args:
        run: Of the generations.
        generations: Their names.
        folder: Of the pages.
        notify: Called with a line on the progress.
        least: How many characters there are at least.

    Raises:
        ConfigError: a policy is of a kind that pages cannot play, or a page cannot be written.
        CheckpointError: a generation cannot be loaded.
    """
    pages = {name: folder / f"{name}.html" for name in generations}
    for number, (name, path) in enumerate(pages.items(), 1):
        notify(f"making the play page of {name} ({number} of {len(pages)})")
        check_writable(path)
        home = Home(run.path.resolve().name, run, {name: run.generations / name})
        save_text(path, play_page(play_content(home, least=least)))
    return pages
