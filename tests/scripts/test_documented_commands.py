"""Every shell line of README and of the pages for a first hour works as it is typed, in order, in a fresh folder."""

import pytest

from tests.scripts.commands import run
from tests.scripts.documented_lines import LEFT_OUT, PAGES, lines_of, make_folder, type_lines


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_a_page_work_in_order(page, tmp_path):
    make_folder(page, tmp_path, run)
    type_lines(page, tmp_path, run)


def test_what_is_left_out_is_on_a_page():
    lines = [line for page in PAGES for line in lines_of(page)]
    assert len(lines) > 35
    assert [start for start in LEFT_OUT if not any(line.startswith(start) for line in lines)] == []
