import json
from types import SimpleNamespace

import numpy as np
import pytest

from selfplay.commands import check_game
from selfplay.commands.check_game import examine
from selfplay.commands.cli.check_game import main
from selfplay.commands.time_limit import TimeLimit
from selfplay.games.game import Game
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.league.rewards import BY_WINS
from tests.games.games import Duel


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr("selfplay.commands.check_game.STEPS", 20)
    monkeypatch.setattr("selfplay.commands.check_game.ROLLOUT", 8)
    monkeypatch.setattr("selfplay.commands.check_game.COUNTING", 0.2)


def check(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["selfplay check-game", *arguments])
    code = main()
    return code, capsys.readouterr()


def test_a_game_that_is_right_is_measured(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.games.games:Nim", "--json")
    found = json.loads(shown.out)
    assert code == 0
    assert found["broken"] == []
    assert found["notes"] == []
    assert 3 < found["episode_length"] < 12
    assert found["shares"].keys() == {"step", "observe", "legal", "to_act", "block"}
    assert sum(found["trained_shares"].values()) == pytest.approx(1)
    assert found["trained_steps_per_s"] > 0


def test_a_slow_game_is_measured_with_fewer_games(monkeypatch, capsys):
    monkeypatch.setattr("selfplay.commands.check_game.SLOW", 0.0)
    monkeypatch.setattr("selfplay.commands.check_game.TRAINING", 0.0)
    code, shown = check(monkeypatch, capsys, "tests.games.games:Nim", "--json")
    found = json.loads(shown.out)
    assert code == 0
    assert found["steps_per_s"] > 0
    assert found["trained_steps_per_s"] > 0
    assert 3 < found["episode_length"] < 12


def test_what_is_no_mistake_is_noted(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.games.games:Duel")
    assert code == 0
    assert "do not always sum to zero (up to 0.25 in a step)" in shown.out
    assert "the contract is kept" in shown.out


def test_games_that_cannot_be_copied_are_measured(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "tests.games.vector_environments:Duels")
    assert code == 0
    assert "its games cannot be copied, so the contract was not checked" in shown.out
    assert "the contract is kept" not in shown.out
    assert "random games last 3.0 steps" in shown.out
    assert "in training" in shown.out


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("tests.games.games:Uncounted", "the same seed and the same actions do not give the same game"),
        ("tests.games.games:Remembers", "games of the same seeds go different ways"),
        ("tests.games.games:Cheated", "broken: scripted player cheat: game 0, player cheat: [99] is not legal"),
    ],
)
def test_what_is_broken_is_told(monkeypatch, capsys, game, message):
    code, shown = check(monkeypatch, capsys, game)
    assert code == 1
    assert message in shown.out


def test_a_built_in_game_can_be_checked():
    found = examine("kuhn")
    assert found.broken == []
    assert found.shares == {}
    assert found.notes == ["played for chips, -2 to 2: the mean payoff counts"]
    assert found.exact == "yes, 24 states"


class Stakes(Game):
    """One step: a seat that plays 1 or 2 more than the other takes the difference."""

    num_actions, obs_width, common = 3, 1, False

    def reset(self, seed):
        self.seed = seed

    def observe(self, seat):
        return [0.0]

    def step(self, actions):
        lead = float(actions[0] - actions[1])
        return ((lead, lead) if self.common else (lead, -lead)), True, False


class Common(Stakes):
    common = True


class Narrow(Stakes):
    objective, payoff_range = "reward", (-1, 1)


class NotShared(Stakes):
    objective = "shared"


class Declared(Stakes):
    objective, payoff_range, payoff_unit = "reward", (-2, 2), "chips"


class Wins(Stakes):
    objective = "outcome"


class Team(Common):
    objective = "shared"


class Late(Stakes):
    """Episodes are too long for the play that shows the objective."""

    max_steps = 400

    def reset(self, seed):
        self.steps = 0

    def step(self, actions):
        self.steps += 1
        rewards, _, _ = super().step(actions)
        over = self.steps == 150
        return rewards if over else (0.0, 0.0), over, False


class Tossed(Stakes):
    """The lead is drawn from all numbers."""

    def step(self, actions):
        lead = float(np.random.default_rng(self.seed).normal())
        return (lead, -lead), True, False


SEEN = "payoffs of -2 to 2 in random play"


@pytest.mark.parametrize(
    ("game", "broken", "notes"),
    [
        (Stakes, [], [f"played for points ({SEEN}): ratings and evaluations use the mean payoff. "]),
        (Common, [], [f"cooperative: both seats always get equal rewards ({SEEN}), and evaluations"]),
        (
            Narrow,
            ["payoff_range is (-1, 1), but random play was paid -2 to 2"],
            ["played for points, -1 to 1: the mean payoff counts"],
        ),
        (NotShared, ["objective is 'shared', but the payoffs of the seats differ"], []),
        (Declared, [], ["played for chips, -2 to 2: the mean payoff counts"]),
        (Wins, [], []),
        (Late, [], [f"ratings, evaluate and exploit: {BY_WINS}"]),
        (Team, [], ["cooperative: both seats get equal rewards, and no player is the stronger one"]),
    ],
)
def test_what_a_game_is_played_for_is_noted_and_checked(monkeypatch, game, broken, notes):
    monkeypatch.setattr(check_game, "_train", lambda *_: None)
    allow(f"{__name__}:{game.__name__}")
    found = examine(f"{__name__}:{game.__name__}")
    assert found.broken == broken
    assert len(found.notes) == len(notes)
    assert all(note.startswith(start) for note, start in zip(found.notes, notes, strict=True))


@pytest.mark.parametrize(
    ("game", "exact"),
    [
        (Stakes, "yes, 1 state\n"),
        (Late, "no, too large to be solved exactly: more than "),
        (Tossed, "no, it cannot be enumerated: normal() of NumPy's generator has no list of outcomes"),
        (NotShared, None),
    ],
)
def test_whether_a_game_has_exact_figures_is_said(monkeypatch, capsys, game, exact):
    monkeypatch.setattr(check_game, "_train", lambda *_: None)
    monkeypatch.setattr(check_game, "EPISODES", 1)  # a slow machine counts states, too
    shown = check(monkeypatch, capsys, f"{__name__}:{game.__name__}")[1].out
    assert ("exact figures: " in shown) == (exact is not None)
    assert exact is None or f"  exact figures: {exact}" in shown


def test_no_such_game(monkeypatch, capsys):
    code, shown = check(monkeypatch, capsys, "kuun")
    assert code == 2
    assert "did you mean kuhn?" in shown.err


class Slow(Duel):
    """Seconds pass only in its steps."""

    clock = 0.0
    takes = 0.02
    max_steps = 200

    def step(self, actions):
        Slow.clock += self.takes
        rewards, _, _ = super().step(actions)
        return rewards, self.steps == 200, False


class Slower(Slow):
    takes = 2.0
    players = {"first": lambda game, seat, rng: (0, 0)}  # noqa: RUF012


@pytest.fixture
def slowly(monkeypatch):
    """Examines a game by the clock of ``Slow``: what was found, what was told, and the seconds."""
    monkeypatch.setattr(check_game, "time", SimpleNamespace(perf_counter=lambda: Slow.clock))
    monkeypatch.setattr(check_game, "_train", lambda *_: None)

    def examined(game):
        name, told = f"{__name__}:{game.__name__}", []
        allow(name)
        find_game(name)
        began = Slow.clock
        limit = TimeLimit(60.0, told.append, lambda: Slow.clock)
        return examine(name, limit), told, Slow.clock - began

    return examined


def test_a_slow_game_is_checked_in_its_time_and_says_how_far_it_is(slowly):
    found, told, seconds = slowly(Slow)
    assert seconds < 60
    assert found.broken == []
    assert found.kept
    assert found.episode_length == 200
    assert [note for note in found.notes if "the contract was checked with games that were cut after" in note]
    assert [text for text in told if text.startswith("Checking the contract: ")]


def test_of_a_game_that_is_too_slow_only_a_part_is_checked(slowly):
    found, _, seconds = slowly(Slower)
    assert seconds < 60
    assert not found.kept
    assert "no episode ended within 3 steps of random play" in found.notes
    assert "the game is too slow for the time, so only a part of the contract was checked" in found.notes


def test_games_without_rewards_or_ends_are_noted(monkeypatch):
    monkeypatch.setattr(check_game, "_train", lambda *_: None)
    allow(f"{__name__}:Idle")
    found = examine(f"{__name__}:Idle")
    assert found.notes[0].endswith("random episodes gave a reward")
    assert found.notes[1].endswith("random episodes were truncated, none was over")


class Idle(Duel):
    max_steps = 5

    def step(self, actions):
        super().step(actions)
        return (0.0, 0.0), False, False


def test_a_limit_is_a_number_of_seconds(monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        check(monkeypatch, capsys, "kuhn", "--seconds", "soon")
    assert end.value.code == 2
    assert "'soon' is no number of seconds such as 60" in capsys.readouterr().err
