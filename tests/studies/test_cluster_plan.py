"""The calculated plan is arithmetic over measured rates, and the page shows what it gives."""

from pathlib import Path

import numpy as np
import pytest

from envs.registry import find_game
from scripts.studies.cluster import study as cluster_study
from scripts.studies.cluster.plan import Rates, Shape, plan, segment_bytes, table
from scripts.studies.cluster.study import PARAMETERS, ClusterStudy, rates_of, shape_of_mock
from selfplay.config.fighting_cli import parse
from selfplay.policy.network import build_network
from selfplay.runner.block_server import open_block
from selfplay.runner.serialization import pack_segment
from selfplay.train.fighting.session import network_spec
from tests.runner.test_block_client import GAMES, STEPS, opening, orders

DOCS = Path(__file__).parents[2] / "docs"
RATES = Rates(actor_steps_per_s=1000.0, update_rows_per_s=2000.0, link_bytes_per_s=1e6, call_s=0.5, calls_per_s=10.0)
SHAPE = Shape(obs=10, parts=3, steps=20, parameters=1000, episode_steps=1000)


def test_a_segment_is_as_large_as_it_is_said_to_be():
    game = find_game("mock")
    collected = open_block(opening()).collect(orders(1)[0])
    arrays, _ = pack_segment(collected)
    ends = len(collected.rollout.ended_at)
    shape = Shape(game.obs_width, game.actions.width, STEPS, 0, max(1, STEPS * 2 * GAMES // ends))
    assert sum(array.nbytes for array in arrays.values()) == pytest.approx(segment_bytes(shape, GAMES), rel=0.02)


def test_the_network_of_the_preset_has_so_many_parameters():
    config = parse(["--preset", "laptop"]).config
    game = find_game("mock")
    from selfplay.checkpoint import ActionHeads

    heads = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
    network = build_network(network_spec(config.net, game.obs_width), heads)
    assert sum(parameter.numel() for parameter in network.parameters()) == PARAMETERS


def test_an_iteration_is_play_transfer_and_update():
    found = plan(games=40, each=10, per_node=2, shape=SHAPE, rates=RATES)
    assert (found.actors, found.nodes) == (4, 2)
    assert found.collect_s == pytest.approx(20 * 10 / 1000 + 0.5)
    assert found.in_bytes == segment_bytes(SHAPE, 40)
    assert found.transfer_s == pytest.approx(4 / 10)  # calls take longer than bytes here
    assert found.update_s == pytest.approx(2 * 40 * 20 / 2000)
    assert found.out_bytes == 2 * 4000
    assert found.calls_per_s == pytest.approx(4 / found.iteration_s)
    assert found.learner_load == pytest.approx(found.update_s / found.iteration_s)


def test_games_in_real_time_are_no_faster_than_that():
    real = Shape(obs=10, parts=3, steps=20, parameters=1000, episode_steps=1000, real_time_s=0.1)
    assert plan(4, 1, 4, real, RATES).collect_s == pytest.approx(20 * 0.1 + 0.5)


def test_more_games_cost_in_proportion():
    small, large = (plan(games, 10, 16, SHAPE, RATES) for games in (100, 10_000))
    assert large.in_bytes == pytest.approx(100 * small.in_bytes, rel=1e-3)
    assert large.update_s == pytest.approx(100 * small.update_s)
    assert large.collect_s == small.collect_s
    assert table([small, large]).count("\n") == 3


def test_the_page_shows_the_plan_of_the_figures():
    measured = ClusterStudy(DOCS / "data" / "cluster", print).speeds()["ray"]
    text = (DOCS / "cluster.md").read_text()
    shown = text.split("<!-- plan: begin -->\n")[1].split("\n<!-- plan: end -->")[0]
    assert shown == cluster_study.plans(rates_of(measured)), "run: python -m scripts.studies.cluster --parts page"
    assert np.isfinite(rates_of(measured).actor_steps_per_s)
    assert shape_of_mock().obs == find_game("mock").obs_width
