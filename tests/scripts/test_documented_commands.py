"""Every shell line of README and of the pages for a first hour works as it is typed, in order, in a fresh folder."""

import pytest

from tests.scripts.commands import run
from tests.scripts.documented_lines import HOUR, LEFT_OUT, PAGES, lines_of, make_folder, type_lines


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [page for page in PAGES if page != HOUR])
def test_the_lines_of_a_page_work_in_order(page, tmp_path):
    make_folder(page, tmp_path, run)
    type_lines(page, tmp_path, run)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_first_hour_works_in_an_empty_folder(tmp_path, record_property):
    """From training fights to a rated game of one's own.

    The report (``--junit-xml``) has the time of each command, made smaller.
    """
    typed = type_lines(HOUR, tmp_path, run)
    for line, seconds in typed:
        record_property(line, f"{seconds:.1f} s")
    assert [line.split()[1] for line, _ in typed] == [
        "train", "leaderboard", "leaderboard", "watch", "play",
        "check-game", "train", "rate", "leaderboard", "evaluate",
    ]  # fmt: skip
    assert (tmp_path / "page.html").exists()


def test_what_is_left_out_is_on_a_page():
    lines = [line for page in PAGES for line in lines_of(page)]
    assert len(lines) > 35
    assert [start for start in LEFT_OUT if not any(line.startswith(start) for line in lines)] == []
