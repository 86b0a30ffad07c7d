"""The first hour as measured: what notices and pages promise must hold for it."""

import json
import re
from pathlib import Path

import pytest

from scripts.studies import first_hour
from selfplay.compilation import progress as compilation
from selfplay_melee.imitation import scripted
from selfplay_melee.wasm import build
from tests.scripts.documented_lines import HOUR, lines_of

ROOT = Path(__file__).parents[2]
RUNS = json.loads(first_hour.DOCUMENT.read_text(encoding="utf-8"))["runs"]


@pytest.mark.parametrize(
    ("figure", "promise"),
    [
        ("compile_s", compilation.RANGE),
        ("play_s", build.USUALLY),
        ("imitation_s", scripted.TAKES),
    ],
)
def test_notices_promise_what_was_measured(figure, promise):
    least, most = map(float, re.search(r"(\d+) to (\d+) s", promise).groups())
    assert all(least <= run[figure] <= most for run in RUNS), [run[figure] for run in RUNS]


def test_the_pages_show_the_document(tmp_path):
    pages = [page.relative_to(ROOT) for page in (first_hour.PAGE, first_hour.QUICKSTART)]
    for path in (*pages, first_hour.DOCUMENT.relative_to(ROOT)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    first_hour.write(tmp_path)
    for page in pages:
        assert (tmp_path / page).read_text() == (ROOT / page).read_text()


def test_the_quickstart_has_the_time_of_each_of_its_commands():
    hour = json.loads(first_hour.DOCUMENT.read_text(encoding="utf-8"))["hour"]
    typed = [line for line in lines_of(HOUR) if not line.startswith(first_hour.NOT_TYPED)]
    assert [step["command"] for step in hour["steps"]] == typed
    assert sum(step["seconds"] for step in hour["steps"]) < 3600
