"""Settings of hosts: what has no effect is refused, and a run goes on elsewhere with the same blocks."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from selfplay.checkpoint import LearnerMeta, LearnerState
from selfplay.cli.ppo import parse
from selfplay.config.resolve import check_host, runners, with_defaults
from selfplay.config.resume import resumed_ppo
from selfplay.errors import ConfigError
from selfplay.examples.tic_tac_toe import TicTacToe
from selfplay.games.kind import _timed
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.games.timing import step_seconds
from selfplay.games.vector import SyncVectorGame

GAME = "selfplay.examples.tic_tac_toe:TicTacToe"


def checked(*arguments):
    invocation = parse(arguments)
    check_host(invocation.config.run.host, invocation.explicit.get("run.ray_address"))
    return invocation.config


def test_an_address_without_ray_is_refused():
    with pytest.raises(ConfigError, match="--ray-address is about actors of Ray: add --host ray"):
        checked("--ray-address", "auto")


def test_a_new_run_has_an_actor_for_each_block():
    config = with_defaults(checked("--host", "ray", "--runners", "3", "--num-games", "64"))
    assert runners(config) == config.run.runners == 3
    assert config.run.host == "ray"


def resumed(*arguments, run=("--host", "ray", "--ray-address", "head:6379", "--runners", "2", "--num-games", "4")):
    config = with_defaults(parse(run).config).model_dump(mode="json")
    meta = LearnerMeta(iteration=3, total_steps=9, elapsed_s=1.0, created=datetime.now(UTC), config=config)
    explicit = parse(["--resume", *arguments]).explicit
    config = resumed_ppo(LearnerState(meta, {}, Path("learner/iter_3"), ()), explicit)
    check_host(config.run.host, explicit.get("run.ray_address"))
    return config


def test_a_token_goes_to_a_cluster_only_when_the_user_names_it():
    with pytest.raises(ConfigError, match=r"add --ray-address=head:6379$"):
        resumed()
    assert resumed("--ray-address", "head:6379").run.host == "ray"


def test_a_run_goes_on_without_the_cluster_with_the_same_blocks():
    config = resumed("--host", "thread")
    assert (config.run.ray_address, config.run.runners) == (None, 2)


def test_the_number_of_blocks_stays():
    with pytest.raises(ConfigError, match="--runners is 4, but the run to resume was started with 2"):
        resumed("--ray-address", "head:6379", "--runners", "4")
    config = resumed("--host", "ray", "--runners", "2", run=("--runners", "2", "--num-games", "4"))
    assert runners(config) == 2


@pytest.mark.parametrize(
    ("step_s", "arguments", "host", "blocks"),
    [
        (5e-3, ("--num-games", "4"), "process", 3),
        (5e-3, ("--num-games", "1"), "thread", 1),
        (5e-3, ("--num-games", "4", "--host", "thread"), "thread", 3),
        (20e-6, ("--num-games", "256"), "process", 3),
        (20e-6, ("--num-games", "48"), "thread", 1),
        (1e-6, ("--num-games", "256"), "thread", 1),
        (5e-3, ("--num-games", "64", "--deterministic"), "process", 4),
        (1e-6, ("--num-games", "4", "--host", "process"), "process", 1),
    ],
)
def test_games_run_in_processes_where_their_steps_are_slow(step_s, arguments, host, blocks, monkeypatch):
    monkeypatch.setattr("selfplay.games.kind.step_seconds", lambda _: step_s)
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: 3)
    _timed.cache_clear()
    allow(GAME)
    config = with_defaults(parse(["--game-type", GAME, *arguments]).config)
    _timed.cache_clear()
    assert (config.run.host, config.run.runners) == (host, blocks)


def test_compiled_games_and_tables_are_not_timed(monkeypatch):
    monkeypatch.delattr("selfplay.games.kind.step_seconds")
    assert [find_game(name).step_s for name in ("mock", "kuhn")] == [0.0, 0.0]


def test_the_time_of_a_step_is_measured():
    class Sleepy(TicTacToe):
        def step(self, actions):
            time.sleep(0.01)
            return super().step(actions)

    assert 0.01 <= step_seconds(SyncVectorGame(Sleepy, 2)) / 2 < 0.1
