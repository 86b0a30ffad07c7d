"""A folder with a package ``envs`` of its own, as many repositories of the field have."""

import shutil
import sys

import pytest

from selfplay.examples import tic_tac_toe
from tests.support.processes import finish

GAME = "my_game:TicTacToe"
SIZE = ("--timesteps", "256", "--num-games", "8", "--rollout-length", "16", "--hidden", "8", "--track-elo")
SELFPLAY = (sys.executable, "-m", "selfplay")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder, with an environment that must not be imported and a game."""
    made = tmp_path_factory.mktemp("repository")
    (made / "envs").mkdir()
    (made / "envs" / "__init__.py").write_text("raise RuntimeError('the package of somebody else')\n")
    shutil.copy(tic_tac_toe.__file__, made / "my_game.py")
    return made


def run(folder, *words, start=SELFPLAY):
    """What a command prints there."""
    done = finish([*start, *words], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_a_game_of_ones_own_is_trained_and_rated_and_shown(folder):
    shown = run(folder, "train", "--game-type", GAME, *SIZE, "--checkpoint", "run")
    assert "selfplay play run" in shown
    assert "gen_0" in run(folder, "leaderboard", "run", "--game-type", GAME)
    run(folder, "leaderboard", "run", "--game-type", GAME, "--html", "page.html")
    assert (folder / "page.html").stat().st_size > 10_000


@pytest.mark.full
def test_a_fight_is_trained_and_watched_and_played(folder):
    from tests.scripts.commands import ROOT

    script = (sys.executable, str(ROOT / "scripts" / "train_self_play.py"))
    run(folder, "--game-type", "mock", "--preset", "none", *SIZE[:-1], "--checkpoint", "fights", start=script)
    assert "fight.html" in run(folder, "watch", "fights/generations/gen_0", "--seconds", "1", "--out", "fight.html")
    assert "play.html" in run(folder, "play", "strong", "--out", "play.html")
