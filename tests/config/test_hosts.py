"""Settings of hosts: what has no effect is refused, and a run goes on elsewhere with the same blocks."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from selfplay.checkpoint import LearnerMeta, LearnerState
from selfplay.config.applicable import check_host
from selfplay.config.defaults import runners, with_defaults
from selfplay.config.fighting_cli import parse
from selfplay.config.resume import resumed_fighting
from selfplay.errors import ConfigError


def checked(*arguments):
    invocation = parse(arguments)
    check_host(invocation.config.run, invocation.config.run.num_games, invocation.explicit)
    return invocation.config


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ray-address", "auto"), "--ray-address is about actors of Ray: add --host ray"),
        (("--workers", "2", "--host", "process"), "--workers is about actors of Ray: add --host ray"),
        (("--host", "ray", "--workers", "5", "--num-games", "4"), "only 4 blocks"),
        (("--host", "ray", "--workers", "2", "--runners", "3"), "3 blocks of games"),
    ],
)
def test_settings_without_effect_are_refused(arguments, words):
    with pytest.raises(ConfigError, match=words):
        checked(*arguments)


def test_workers_are_the_blocks_of_a_new_run():
    config = with_defaults(checked("--host", "ray", "--workers", "3", "--num-games", "64"))
    assert runners(config) == config.run.runners == 3
    assert config.run.host == "ray"


def resumed(*arguments, run=("--host", "ray", "--ray-address", "head:6379", "--workers", "2", "--num-games", "4")):
    config = with_defaults(parse(run).config).model_dump(mode="json")
    meta = LearnerMeta(iteration=3, total_steps=9, elapsed_s=1.0, created=datetime.now(UTC), config=config)
    explicit = parse(["--resume", *arguments]).explicit
    config = resumed_fighting(LearnerState(meta, {}, Path("learner/iter_3"), ()), explicit)
    check_host(config.run, config.run.num_games, explicit)
    return config


def test_a_token_goes_to_a_cluster_only_when_the_user_names_it():
    with pytest.raises(ConfigError, match=r"add --ray-address=head:6379$"):
        resumed()
    assert resumed("--ray-address", "head:6379").run.host == "ray"


def test_a_run_goes_on_without_the_cluster_with_the_same_blocks():
    config = resumed("--host", "thread")
    assert (config.run.ray_address, config.run.workers, config.run.runners) == (None, 0, 2)


def test_the_number_of_blocks_stays():
    with pytest.raises(ConfigError, match="the run has 2 blocks"):
        resumed("--ray-address", "head:6379", "--workers", "4")
    config = resumed("--host", "ray", "--workers", "2", run=("--runners", "2", "--num-games", "4"))
    assert runners(config) == 2
