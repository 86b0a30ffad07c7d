"""The shell lines of README and of the pages for a first hour, and a person who types them.

Lines are typed with fewer games and steps (``SMALLER``). ``LEFT_OUT`` says which are not typed, and what tests them.
"""

import re
import shlex
import shutil
import time

from tests.scripts.commands import ROOT

BLOCK = re.compile(r"^```bash\n(?P<lines>.*?)^```", re.DOTALL | re.MULTILINE)
SMALLER = (
    (
        r"^selfplay train$",
        "selfplay train --preset laptop --track-elo --num-games 4 --timesteps 1024 --save-interval 2 "
        "--max-episode-frames 1200",
    ),
    (r"--timesteps 1000000", "--num-games 4 --rollout-length 8 --timesteps 256 --save-interval 4"),
    (
        r"--max-minutes 3$",
        "--preset laptop --track-elo --num-games 4 --timesteps 1024 --save-interval 2 --max-episode-frames 1200",
    ),
    (r"--max-minutes 30", "--timesteps 1536"),
    (r"--budget 1000", "--budget 4"),
    (r"--games (100|200)", "--games 4"),
    (r"--steps 1000000", "--steps 512 --games 4"),
    (r"--epochs 10", "--epochs 1"),
    (r"(train --pretrained \S+)", r"\1 --num-games 4 --timesteps 512 --checkpoint from_imitation"),
    (r"(selfplay play(?!.*GAME).*)", r"\1 --no-open"),
    (r"(evaluate .* --greedy)", r"\1 --games 4"),
    (r"gen_40,gen_100", "gen_0"),
    (r"\bRUN\b", "checkpoints/self_play"),
    (r"GAME\.slp", "game.slp"),
)
LEFT_OUT = {  # by the start of a line
    "make ": "tests of the make file: a person's own .venv",
    "git ": "the network",
    "pip ": "the network",
    "source ": "the shell's own",
    "selfplay selfcheck": "tests/commands/test_selfcheck.py",
    "selfplay train --game-type openspiel:": "tests/run/test_any_game.py",
    "selfplay train --game-type pettingzoo:": "tests/games/test_pettingzoo_games.py",
    "selfplay train --game-type matching": "tests/dialogue",
    "selfplay play RUN --serve": "tests/melee/commands/test_play_server.py: it serves until it is stopped",
    "selfplay play RUN --add": "tests/melee/commands/test_added_games.py: needs a game that a person has played",
    "selfplay play checkpoints/tic_tac_toe": "tests/commands/test_play_terminal.py: asks for moves",
    "python -m scripts.": "tests/studies",
    "tensorboard ": "another program: it serves until it is stopped",
}
HOUR = "docs/quickstart.md"  # begins in an empty folder
PAGES = ("README.md", HOUR, "docs/trainer/environments.md", "docs/melee/play.md")


def lines_of(page):
    """Shell lines of a page in order, without comments, with what it assigns put in."""
    names = {}
    for block in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        for line in block["lines"].replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if assigned := re.fullmatch(r"([A-Z]+)=(.*)", words[0]):
                names[assigned[1]] = assigned[2]
                continue
            line = shlex.join(words)
            for name, value in names.items():
                line = line.replace(f"'${name}'", value)
            yield line.replace("'", "") if "$" not in line else line


def make_folder(page, folder, run):
    """Put a replay and a package ``envs`` of another project into a folder; for all pages but README a run, too."""
    game = ("--bot", "idle", "--games", 1, "--max-episode-frames", 600, "--out", "own")
    assert run("record", *game, cwd=folder).returncode == 0
    shutil.move(next((folder / "own").glob("*.slp")), folder / "game.slp")
    shutil.rmtree(folder / "own")
    if page != "README.md":
        size = ("--num-games", 4, "--timesteps", 512, "--save-interval", 2, "--track-elo", "--max-episode-frames", 1200)
        assert run("train", "--game-type", "mock", *size, cwd=folder).returncode == 0
    (folder / "envs").mkdir()
    (folder / "envs" / "__init__.py").write_text("raise RuntimeError('the package envs of another project')\n")


def type_lines(page, folder, run):
    """Type the lines of a page in order; ``run`` is given the words behind ``selfplay``. All must succeed.

    Returns each line of the page with the seconds that it took.
    """
    typed = []
    for line in lines_of(page):
        if line.startswith(tuple(LEFT_OUT)):
            continue
        small = line
        for long, short in SMALLER:
            small = re.sub(long, short, small)
        program, *words = shlex.split(small)
        assert program == "selfplay", line
        began = time.monotonic()
        done = run(*words, cwd=folder)
        assert done.returncode == 0, f"{small}\n{done.stdout[-2000:]}\n{done.stderr}"
        typed.append((line, time.monotonic() - began))
    assert typed
    return typed
