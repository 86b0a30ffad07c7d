"""Settings of hosts: what has no effect is refused, and a run goes on elsewhere with the same blocks."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from selfplay.checkpoint import LearnerMeta, LearnerState
from selfplay.cli.ppo import parse
from selfplay.config.resolve import check_host, runners, with_defaults
from selfplay.config.resume import resumed_ppo
from selfplay.errors import ConfigError


def checked(*arguments):
    invocation = parse(arguments)
    check_host(invocation.config.run, invocation.explicit)
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
    check_host(config.run, explicit)
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
