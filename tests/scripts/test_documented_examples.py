"""Every Python block of the documents runs as it is written.

The blocks of a page share their names, in order. What the text around them takes for granted is in ``given``. The word
behind the name of the language says which blocks do not always run: ``needs=NAME`` those of an optional package, and
``sketch`` pseudocode, which is only parsed. A block that begins with the name of a file is that file, too.

``python -m tests.scripts.test_documented_examples`` prints the minimal loop on its page anew.
"""

import ast
import asyncio
import importlib.util
import inspect
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from scripts.studies.pages import put_between
from selfplay.commands.export import export
from selfplay.games.registry import make_game
from selfplay.league.ledger import Ledger
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import OBS_WIDTH
from tests.league.pools import series
from tests.run.policies import save
from tests.scripts.commands import run
from tests.support.processes import LIMIT_S

ROOT = Path(__file__).parents[2]
LOOP, LOOP_PAGE = ROOT / "selfplay/examples/minimal.py", ROOT / "docs/trainer/internals/architecture.md"
BLOCK = re.compile(r"^```python(?P<how>[^\n]*)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)
LONG = ("docs/trainer/api.md", "docs/trainer/internals/architecture.md")  # train for seconds
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("checkpoints/*.md"))
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with what the commands of the guide leave: a run with rating games, and replay files."""
    folder = tmp_path_factory.mktemp("home")
    run_folder = save(folder / "checkpoints/self_play", 0, 20, 40, 100, config={"ppo": {}})
    with Ledger.open(run_folder.ledger) as ledger:
        ledger.append(series([("gen_40", "gen_20", "win"), ("gen_20", "random", "draw"), ("gen_40", "random", "win")]))
    size = ("--bot", "idle", "--games", 2, "--max-episode-frames", 4800, "--character", "mewtwo")
    assert run("record", *size, cwd=folder).returncode == 0
    first = next((folder / "replays").glob("*.slp"))
    for name in ("game.slp", "Game_20240101.slp"):
        shutil.copy(first, folder / name)
    return folder


def given(page):
    """What the text of a page takes for granted, by name."""
    block = MockMelee(2, max_episode_frames=60)
    block.reset(np.arange(2, dtype=np.uint64))

    everywhere = {"observations": np.zeros((2, OBS_WIDTH), np.float32)}
    pages = {
        "docs/trainer/environments.md": {
            "MyGame": lambda num_games, max_steps: make_game("kuhn", num_games=num_games),
        },
        "docs/melee/internals/imitation_data.md": {"folder": Path("replays"), "cache": Path("cache")},
        "docs/melee/replays.md": {"block": block, "actions": neutral_actions(2)},
    }
    return everywhere | pages.get(page, {})


def missing(how):
    """The optional package that a block needs and that is not installed."""
    name = how.removeprefix("needs=")
    return name if how.startswith("needs=") and importlib.util.find_spec(name) is None else None


def check(page, names):
    """What the blocks of a page have to come to, by the names that they leave."""
    if ROOT / page == LOOP_PAGE:
        ratings = names["ratings"]
        assert ratings.difference("gen_80", "gen_0").low > 100
        assert ratings.difference("gen_80", "random").low > 100
        assert names["seen"].terminal.any()
        assert len(names["seen"].reward) == len(names["worth"])


def loop_as_shown():
    return f"```python\n{LOOP.read_text(encoding='utf-8')}```"


async def within(block):
    async with asyncio.timeout(LIMIT_S):
        await block


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.full if page in LONG else ())
        for page, text in PAGES.items()
        if BLOCK.search(text)
    ],
)
def test_the_python_blocks_of_a_page_run(page, home, tmp_path, monkeypatch):
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"__name__": "example"}
    names |= given(page)
    skipped = []
    for block in BLOCK.finditer(PAGES[page]):
        how, code = block["how"].strip(), block["code"]
        assert how in ("", "sketch") or how.startswith("needs="), f"{page}: ```python {how}"
        line = PAGES[page][: block.start()].count("\n") + 1
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compiled = compile("\n" * line + code, page, "exec", flags)  # with the lines of the page
        if how == "sketch":
            continue
        if file := re.match(r"# (\w+\.py)\n", code):
            Path(file[1]).write_text(code, encoding="utf-8")
        if (package := missing(how)) is not None:
            skipped.append(f"line {line} needs {package}")
            continue
        if how == "needs=onnxruntime":
            export("checkpoints/self_play", "onnx", Path("policy.onnx"), 10)
        result = eval(compiled, names)  # gives a coroutine where the block awaits
        if inspect.isawaitable(result):
            asyncio.run(within(result))
    check(page, names)
    if skipped:
        pytest.skip("; ".join(skipped))


def test_blocks_are_found_on_the_pages_that_have_them():
    found = {page: len(BLOCK.findall(text)) for page, text in PAGES.items()}
    assert found == {page: len(re.findall("^ *```py", text, re.MULTILINE)) for page, text in PAGES.items()}
    assert sum(found.values()) >= 18


def test_commands_of_another_game_name_a_run_of_that_game():
    """``checkpoints/self_play`` is the run of the README's first command, a fight."""
    wrong = re.compile(r"^.*checkpoints/self_play\b.*(?:--game-type|\$GAME).*$", re.MULTILINE)
    assert [line for text in PAGES.values() for line in wrong.findall(text)] == []


def test_the_minimal_loop_on_its_page_is_the_file():
    shown = f"<!-- minimal: begin -->\n{loop_as_shown()}\n<!-- minimal: end -->"
    page = PAGES[str(LOOP_PAGE.relative_to(ROOT))]
    assert shown in page, "python -m tests.scripts.test_documented_examples prints it anew"


if __name__ == "__main__":
    put_between(LOOP_PAGE, "minimal", loop_as_shown())
