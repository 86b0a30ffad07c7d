"""Programs that have to compile the rules first: what they tell, and that a signal ends them."""

import signal

import pytest

from selfplay.compilation.compile import numba_config
from selfplay.config.ppo import Config
from tests.run.policies import save
from tests.scripts import commands
from tests.scripts.commands import read_until, start
from tests.support.cases import first_alone

pytestmark = pytest.mark.skipif(bool(numba_config.DISABLE_JIT), reason="nothing is compiled")
GAMES = {
    "train_self_play.py": ("--game-type", "mock"),
    "evaluate": ("rusher", "walker", "--games", 2),
    "rate": ("RUN", "--budget", 8),
    "watch": ("RUN", "--out", "a.gif"),
    "record": ("--bot", "rusher", "--games", 1),
}


@pytest.mark.parametrize(
    ("script", "number", "code"),
    first_alone(
        [(script, signal.SIGINT, 130) for script in GAMES] + [("train_self_play.py", signal.SIGTERM, -signal.SIGTERM)]
    ),
)
def test_a_signal_while_rules_are_compiled_ends_the_program_at_once(script, number, code, tmp_path, monkeypatch):
    run = save(tmp_path / "run", 0, 5)
    run.write_run({"config": Config().model_dump(mode="json")})
    monkeypatch.setitem(commands.ENVIRONMENT, "NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    arguments = [run.path if word == "RUN" else word for word in GAMES[script]]
    with start(script, *arguments, cwd=tmp_path) as process:
        told = read_until(process, "Compiling the game rules")
        assert "a few minutes on a busy machine" in told[-1]
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait() == code, rest
    assert "Traceback" not in rest
    assert "Compiled" not in rest
    assert not (tmp_path / "checkpoints").exists()  # nothing was begun
