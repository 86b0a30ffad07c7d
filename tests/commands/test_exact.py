"""Exact figures of a run of a game of one's own, by the verbs that say them."""

import json
import sys

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, list_generations
from selfplay.commands.cli import exploit, leaderboard, selfcheck
from selfplay.commands.exact import exact_part
from selfplay.errors import ConfigError
from selfplay.evaluation.exact import exact_figures, run_figures, spread
from selfplay.games import plugins
from selfplay.games.errors import EnumerationError
from selfplay.games.kind import GameKind
from selfplay.games.objective import Objective
from selfplay.games.registry import find_game
from selfplay.games.solved.enumeration import Limits
from selfplay.policy.policy import load_policy
from selfplay.report.leaderboard_page.exact import exact_section
from tests.ppo.test_solved_games import ITERATION, RATED, train

LEDUC = "tests.support.leduc:Leduc"


plugins.allow(LEDUC)


class Fixed:
    """A policy that takes the first legal action of those that it prefers, whatever it sees."""

    def __init__(self, *preferred):
        self.preferred = preferred

    def probabilities(self, obs, legal):
        chosen = [next(action for action in self.preferred if row[action]) for row in legal]
        return np.eye(legal.shape[1], dtype=np.float32)[chosen]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "leduc"
    assert train(folder, LEDUC, "--timesteps", 4 * ITERATION, *RATED)[0] == 0
    return folder


@pytest.fixture
def said(monkeypatch, capsys):
    def run_verb(verb, *arguments, code=0):
        monkeypatch.setattr(sys, "argv", [f"selfplay {verb.__name__.rpartition('.')[2]}", *map(str, arguments)])
        assert verb.main() == code
        return capsys.readouterr()

    return run_verb


def test_figures_of_a_policy_are_those_of_the_player_that_plays_alike():
    raiser = exact_figures(LEDUC, Fixed(2, 1))
    assert (raiser.unit, raiser.nodes, raiser.left_out) == ("chips", 864, {})
    assert (raiser.nash_conv, raiser.reply) == pytest.approx((4.733333333333333, 2.3666666666666667))
    assert raiser.against == pytest.approx({"random": 1.8993055555555554, "caller": 0, "raiser": 0, "mixer": 0})
    assert str(raiser).startswith(
        "Exactly, from all 864 states: NashConv 4.733 chips (a best reply gains 2.367 chips a game). Mean payoff: "
        "+1.899 against random, +0.000 against caller"
    )


def test_figures_of_a_run_have_its_mixtures_and_all_pairs():
    found = run_figures(LEDUC, {"gen_0": Fixed(2, 1), "gen_2": Fixed(1), "gen_4": Fixed(0, 1)})
    assert found.generations["gen_0"] == pytest.approx(4.733333333333333)
    assert found.generations["gen_2"] == pytest.approx(2.9333333333333333)
    assert found.mixtures.last == found.generations["gen_4"]
    assert sum(found.mixtures.weights) == pytest.approx(1)
    assert found.players == ("gen_4", "gen_0", "random", "caller", "raiser", "mixer")
    payoffs = np.array(found.payoffs)
    np.testing.assert_allclose(payoffs, -payoffs.T, atol=1e-12)
    assert payoffs[1, 2] == pytest.approx(1.8993055555555554)


def test_nash_averaging_recommends_nothing_of_a_shared_reward(monkeypatch):
    monkeypatch.setattr(GameKind, "objective", Objective("shared"))
    found = run_figures(LEDUC, {"gen_0": Fixed(2, 1), "gen_2": Fixed(1)})
    assert [*found.nash_convs] == ["gen_0", "gen_2", "average", "random"]
    assert "recommended" not in "\n".join(selfcheck.lines(found))
    assert "ecommended" not in exact_section(found.unit, found.nodes, found.nash_convs, found.players, found.payoffs)


def test_exploit_says_the_exact_figures_and_trains_nobody(run, said, monkeypatch):
    monkeypatch.setattr("selfplay.commands.exploit.exploit", lambda *_, **__: pytest.fail("trained"))
    text = said(exploit, run, "--game-type", LEDUC).out
    known = exact_figures(LEDUC, load_policy(run))
    assert text == f"{known}\n"
    found = json.loads(said(exploit, run, "--game-type", LEDUC, "--json").out)
    assert found["exact"]["nash_conv"] == known.nash_conv
    assert found["verdict"] == str(known)


def test_exploiters_are_trained_if_they_are_asked_for_or_the_game_is_too_large(run, said, monkeypatch):
    asked = []

    def asked_for(*given):
        asked.append(given)
        raise ConfigError("asked for")

    monkeypatch.setattr("selfplay.commands.exploit.exploit", asked_for)
    assert "NashConv" in said(exploit, run, "--seeds", "4", "--game-type", LEDUC, code=2).out
    assert (asked[0][1], asked[0][3]) == (exploit.STEPS, ["scratch", "victim"])

    def too_large(*_):
        raise EnumerationError("too large to be solved exactly")

    monkeypatch.setattr("selfplay.commands.exact.find_tree", too_large)
    told = said(exploit, run, "--game-type", LEDUC, code=2)
    assert told.out == ""
    assert told.err.startswith("No exact figures: too large to be solved exactly. Exploiters are trained instead.\n")
    assert len(asked) == 2


def test_selfcheck_judges_a_run(run, said):
    text = said(selfcheck, "--run", run, "--game-type", LEDUC).out
    document = json.loads(said(selfcheck, "--run", run, "--game-type", LEDUC, "--json").out)
    assert [*document["generations"]] == [each.id for each in list_generations(RunDir(run))]
    assert text.startswith(f"NashConv of {LEDUC} in chips, exactly, from all 864 states:\n  gen_0")
    for name, value in (*document["generations"].items(), ("average", document["mixtures"]["average"])):
        assert f"  {name:<11}  {value:8.4f}" in text
    assert document["uniform"] == pytest.approx(4.747222222222222)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "RUN", "--games", "kuhn"), "--games and --seeds are of trained games"),
        (("--game-type", "kuhn"), "--game-type and --max-minutes go with --run"),
        (("--run", "RUN", "--max-minutes", "0"), "--max-minutes 0: a number above 0"),
        (("--run", "RUN", "--game-type", "kuhn"), f"plays {LEDUC}, not kuhn"),
        (("--run", "RUN", "--max-minutes", "1e-9"), "too large to be solved exactly"),
    ],
)
def test_what_selfcheck_cannot_do_is_one_line(run, said, arguments, message):
    told = said(selfcheck, *(run if word == "RUN" else word for word in arguments), code=2)
    assert message in told.err
    assert told.err.count("\n") == 1


def test_the_page_of_a_run_has_a_section_with_exact_figures(run, said, tmp_path):
    said(leaderboard, run, "--html", tmp_path / "page.html", "--game-type", LEDUC)
    page = (tmp_path / "page.html").read_text()
    found = run_figures(LEDUC, {each.id: load_policy(each.path) for each in list_generations(RunDir(run))})
    section = page[page.index('<section id="exact">') :]
    for name, value in found.nash_convs.items():
        assert f'<th scope="row">{name}</th><td>{value:.4f}</td>' in section
    assert f"<td>{found.payoffs[0][1]:+.4f}</td>" in section


def test_the_page_says_why_there_are_no_exact_figures(run, monkeypatch):
    assert exact_part(RunDir(run), "mock") == ""
    monkeypatch.setattr("selfplay.commands.exact.figures_of_run.__defaults__", (Limits(nodes=10),))
    assert "No exact figures: tests.support.leduc:Leduc: too large" in exact_part(RunDir(run), LEDUC)


def test_a_policy_that_remembers_is_refused(tmp_path, said):
    train(tmp_path / "run", LEDUC, "--timesteps", ITERATION, "--backbone", "gru", "--hidden", "8,8")
    told = said(selfcheck, "--run", tmp_path / "run", "--game-type", LEDUC, code=2)
    assert "remembers (gru): exact figures are of policies without memory (mlp)" in told.err


def test_what_is_compared_is_spread_evenly():
    assert spread([*range(9)], 3) == [0, 4, 8]
    assert spread([1, 2], 3) == [1, 2]


@pytest.mark.parametrize(
    ("name", "words"),
    [("rps", "-2 to 2"), ("pennies", "played to win"), ("kuhn", "chips, -2 to 2"), ("mixup", "points, -1 to 1")],
)
def test_solved_games_say_what_they_are_played_for(name, words):
    assert words in str(find_game(name).objective)
    assert not find_game(name).objective.measured
