"""Playing in the terminal: what is shown, asked, refused and told, and what a policy is fed."""

import io
import re
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from selfplay.checkpoint import ActionHeads, NetworkSpec, create_run
from selfplay.commands.cli import play as command
from selfplay.commands.play_terminal import play_in_terminal
from selfplay.games.errors import GameError
from selfplay.games.game import Game
from selfplay.games.objective import OUTCOME, Objective
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.registry import find_game
from selfplay.games.vector import RANDOM
from selfplay.half_blocks import UPPER_HALF
from selfplay.policy.policy import Policy, parameters_of
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.match import Contender
from tests.checkpoint.samples import save_generation
from tests.policy.networks import network, policy_meta
from tests.support.kinds import bring


def policy_for(game, /, kind="mlp", **changes):
    sizes = tuple(np.atleast_1d(game.num_actions).tolist())
    spec = NetworkSpec(kind=kind, obs_width=game.obs_width, hidden=(8, 8))
    heads = ActionHeads(binary=0, sizes=sizes)
    meta = policy_meta(network=spec, actions=heads, frame_skip=1, delay=0, encoder_version=1, **changes)
    return Policy(meta, network(1, spec=spec, heads=heads).requires_grad_(requires_grad=False).eval())


@pytest.fixture(autouse=True)
def _terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


def played(game, opponent, *answers, seed=0, objective=OUTCOME, **options):
    """The lines of a play; prompts stand in them, with their answers."""
    lines, left = [], iter(answers)

    def read(prompt):
        answer = next(left, None)
        if answer is None:
            lines.append(prompt)
            raise EOFError
        lines.append(f"{prompt}{answer[:20]}")
        return answer

    opponent = Contender(opponent) if isinstance(opponent, str) else Contender("path/of/it", opponent)
    entry = replace(
        find_game("kuhn"),
        single=lambda: game,
        declared=objective,
        rated=RatedGame({name: ScriptedPlayer("1") for name in (RANDOM, *game.players)}, {}),
    )
    with pytest.MonkeyPatch.context() as patch:
        bring(patch, "own", entry)
        play_in_terminal("own", opponent, read, lines.append, seed=seed, **options)
    assert next(left, None) is None  # all was asked for
    return lines


class Count(Game):
    """Seats take turns to add 1 or 2, both at once where ``together``; who reaches 4 first wins 3 and loses none."""

    num_actions = 3
    obs_width = 2
    together = False

    def reset(self, seed):
        self.seeds = [*getattr(self, "seeds", []), seed]
        self.sums, self.turn = [0, 0], 0

    def to_act(self):
        return (0, 1) if self.together else (self.turn % 2,)

    def observe(self, seat):
        assert seat in self.to_act() or max(self.sums) >= 4
        return self.sums

    def legal(self, seat):
        return [False, True, True]

    def step(self, actions):
        for seat in self.to_act():
            self.sums[seat] += actions[seat]
        self.turn += 1
        rewards = [3.0 if n >= 4 else 0.0 for n in self.sums]
        return rewards, any(rewards), False

    def action_name(self, action):
        return ("none", "One", "two")[action]


class Together(Count):
    together = True
    players: ClassVar = {"slow": lambda game, seat, rng: 1, "wrong": lambda game, seat, rng: 0}


class Parts(Together):
    num_actions = (2, 4)
    players: ClassVar = {"first": lambda game, seat, rng: (0, 2)}

    def legal(self, seat):
        return [True, True, False, True, True, False]

    def step(self, actions):
        self.given = actions
        return (0.0, 0.0), False, True


def test_a_game_is_told_from_the_first_line_to_the_score():
    assert played(Together(), "slow", "two", "TWO", "n") == [
        "Game 1: you have seat 0, slow has seat 1. Type quit any time.",
        "[0. 0.]",
        "Your action (One, two): two",
        "slow: One",
        "[2. 1.]",
        "Your action (One, two): TWO",
        "slow: One",
        "You won. Rewards: 3 for you, 0 for slow. Score: 1 won, 0 lost, 0 drawn.",
        "Again? [Y/n] n",
    ]


def test_the_other_players_move_has_the_name_that_it_had_when_it_was_played():
    class Dated(Together):
        def action_name(self, action):
            return f"{self.turn}:{action}"

    assert "slow: 0:1" in played(Dated(), "slow", "0:2", "1:2", "n")


def test_seats_that_have_names_are_told_by_them():
    game = Together()
    game.seat_names = ("hunter", "prey")
    first, *_ = played(game, "slow", "quit", seat=1)
    assert first == "Game 1: you have seat 1 (prey), slow has seat 0 (hunter). Type quit any time."


def test_seats_swap_and_games_and_scores_go_on():
    game = Together()
    lines = played(game, "slow", *["two", "two", ""], *["one"] * 4, "y", "quit", seat=1)
    seats = [re.search(r"you have seat (\d)", line)[1] for line in lines if line.startswith("Game")]
    assert seats == ["1", "0", "1"]
    assert lines[-1] == "\nScore: 1 won, 0 lost, 1 drawn."
    assert len(set(game.seeds)) == len(game.seeds)


def test_in_turns_only_the_other_players_move_is_told_and_one_may_lose():
    policy = policy_for(Count())
    lines = played(Count(), policy, "one", "one", "one", "n", seat=1, seed=1)
    assert "1 lost" in lines[-2]
    assert 2 <= sum(line.startswith("gen_0: ") for line in lines) <= 4


@pytest.mark.parametrize("wrong", ["none", "three", "", "1", "x" * 999])
def test_what_is_not_legal_is_one_line_and_asked_again(wrong):
    assert played(Together(), "slow", wrong, "quit")[3:] == [
        "That is no legal action (valid: One, two; or quit).",
        "Your action (One, two): quit",
        "\nScore: 0 won, 0 lost, 0 drawn.",
    ]


def test_a_name_in_its_own_case_comes_before_one_in_another():
    class Cased(Together):
        def action_name(self, action):
            return "xnN"[action]

    assert "1 won" in played(Cased(), "slow", "N", "N", "n")[-2]
    assert "1 drawn" in played(Cased(), "slow", "n", "n", "n", "n", "n")[-2]


def test_what_was_paid_so_far_is_told_where_it_counts():
    answers = ("two", "two", "y", "two", "two", "n")
    lines = played(Count(), "random", *answers, objective=Objective("reward", unit="chips"))
    totals = [line.rsplit(", ", 1)[1] for line in lines if line.startswith("You ")]
    paid = [float(line.split("Rewards: ")[1].split(" for you")[0]) for line in lines if line.startswith("You ")]
    assert totals == [f"{sum(paid[: i + 1]):+g} chips." for i in range(len(paid))]
    assert any(paid)


def test_of_a_shared_reward_nobody_has_won():
    lines = played(Together(), "slow", "two", "two", "n", objective=Objective("shared", unit="points"))
    assert lines[-2] == "The game is over. Rewards: 3 for you, 0 for slow. Together: 3 points in 1 games."


def test_the_end_of_the_input_ends_it_anywhere():
    for won, answers in enumerate(([], ["two", "two"])):
        assert played(Together(), "slow", *answers)[-1] == f"\nScore: {won} won, 0 lost, 0 drawn."


def test_actions_of_several_parts_are_numbers_with_commas():
    game = Parts()
    lines = played(game, "first", "1", "0,0", "0,1,1", "a,1", "-1,1", "1,²", " 1 , 2 ", "n")
    asked = [line for line in lines if line.startswith("Your action (0|1, 1|2): ")]
    assert len(asked) == 7
    assert game.given == [[1, 2], [0, 2]]
    assert lines[-4:] == [
        "first: 0,2",
        "The game was ended after 1 steps.",
        "You drew. Rewards: 0 for you, 0 for first. Score: 0 won, 0 lost, 1 drawn.",
        "Again? [Y/n] n",
    ]


def test_parts_without_a_choice_are_not_asked_for():
    game = Parts()
    game.legal = lambda seat: [seat == 1, True, False, True, True, True]
    lines = played(game, "first", "1,3", "3", "n")
    assert "Your action (1, 2, 3): 3" in lines
    assert game.given == [[1, 3], [0, 2]]


def test_a_game_ends_after_its_longest():
    game = Together()
    game.max_steps = 2
    lines = played(game, "slow", "one", "one", "n")
    assert "The game was ended after 2 steps." in lines


def test_text_is_shown_before_each_action_and_at_the_end():
    game = Together()
    game.render = lambda: f"{max(game.sums) // 2}\n"
    lines = played(game, "slow", "one", "one", "two", "n")
    assert [line for line in lines if line.isdecimal()] == ["0", "0", "1", "2"]


def test_a_picture_is_shown_in_the_size_of_the_terminal():
    game, pixels = Together(), np.zeros((400, 300, 3), np.uint8)
    pixels[:200] = (255, 0, 0)
    game.render = lambda: pixels
    lines = played(game, "slow", "quit")
    rows = lines[1].split("\n")
    assert [row.count(UPPER_HALF) for row in rows] == [30] * 20
    assert all("255;0;0" in row for row in rows[:10])
    assert not any("255;0;0" in row for row in rows[10:])


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((100, 200), 20, 80),
        ((100, 20), 20, 8),
        ((6, 8), 3, 8),  # never larger
        ((7, 8), 4, 8),  # an even height
        ((1, 900), 1, 80),
    ],
)
def test_pictures_keep_their_shape(shape, rows, columns):
    game = Together()
    game.render = lambda: np.zeros((*shape, 3), np.uint8)
    shown = played(game, "slow", "quit")[1].split("\n")
    assert [row.count(UPPER_HALF) for row in shown] == [columns] * rows


@pytest.mark.parametrize(
    "shown", [None, np.zeros((4, 4, 3)), np.zeros((4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)]
)
def test_what_is_no_picture_is_refused(shown):
    game = Together()
    game.render = lambda: shown
    with pytest.raises(GameError, match=r"render\(\) gave .* \(valid: text, or a picture as uint8 \[H, W, 3\]\)"):
        played(game, "slow")


def test_many_numbers_and_many_actions_are_cut():
    class Wide(Together):
        num_actions = 100
        obs_width = 5000
        legal = Game.legal
        action_name = Game.action_name

        def observe(self, seat):
            return np.zeros(5000)

    lines = played(Wide(), "slow", "help", "99", "n")
    assert len(lines[1]) < 100
    assert "..." in lines[1]
    assert lines[2].endswith(" 22, 23, ...): help")
    assert "97, 98, 99; or quit" in lines[3]


def test_games_that_break_the_rules_are_named():
    with pytest.raises(GameError, match=r"player wrong: \[0\] is not legal"):
        played(Together(), "wrong", "one")
    game = Together()
    game.legal = lambda seat: [False] * 3
    with pytest.raises(GameError, match="seat 0 is to act, but nothing is legal"):
        played(game, "slow")
    game.legal = lambda seat: [True] * 4
    with pytest.raises(GameError, match=r"legal actions: legal\(0\) returned 4 numbers \(valid: 3 booleans"):
        played(game, "slow")


@pytest.mark.parametrize("opponent", ["random", "policy"])
def test_a_seed_gives_the_same_games_and_another_gives_others(opponent):
    def told(seed):
        game = find_game("mixup").single()
        other = policy_for(game) if opponent == "policy" else opponent
        return played(game, other, "attack", "quit", seed=seed)

    assert told(3) == told(3)
    assert len({tuple(told(seed)) for seed in range(12)}) > 1


def test_a_policy_with_memory_also_decides_where_it_waits(monkeypatch):
    seen, step = [], RecurrentState.step

    def spied(memory, network, obs, rows):
        found = step(memory, network, obs, rows)
        seen.append(obs.any().item())
        return found

    monkeypatch.setattr(RecurrentState, "step", spied)
    game = find_game("kuhn").single()
    played(game, policy_for(game, "gru"), "bet", "quit")
    assert seen == [False, True]


def source(data):
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")


@pytest.fixture
def kuhn_run(tmp_path):
    run = create_run(tmp_path / "run")
    run.write_run({})
    for iteration in (0, 10):
        policy = policy_for(find_game("kuhn").single(), game="kuhn", iteration=iteration)
        save_generation(run, policy.meta, parameters_of(policy.network))
    return run


def call(monkeypatch, *arguments, answers=b""):
    monkeypatch.setattr(sys, "argv", ["selfplay play", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", source(answers))
    try:
        return command.main()
    except SystemExit as ended:  # by the parser
        return ended.code


@pytest.mark.parametrize(
    ("flags", "name"),
    [([], "gen_10"), (["--opponent", "gen_0"], "gen_0"), (["--opponent", "equilibrium"], "equilibrium")],
)
def test_the_command_plays_a_run_in_the_terminal(kuhn_run, monkeypatch, capsys, flags, name):
    assert call(monkeypatch, kuhn_run.path, "--seat", 1, "--seed", 3, *flags, answers=b"pass\nn\nn\n") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Game 1: you have seat 1, {name} has seat 0.")
    assert "Your action (pass, bet): " in out
    assert "Rewards: " in out


def test_the_command_plays_a_policy_and_finds_the_newest_run(kuhn_run, tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, kuhn_run.generations / "gen_0") == 0
    assert "gen_0 has seat 1" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["selfplay play"])
    monkeypatch.setattr(sys, "stdin", source(b""))
    (tmp_path / "checkpoints").symlink_to(kuhn_run.path.parent)
    monkeypatch.chdir(tmp_path)
    assert command.main() == 0
    assert "gen_10 has seat 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--serve"], "--serve is a flag of games on a page, such as mock"),
        (["--generations", "2"], "--generations is a flag of games on a page, such as mock"),
        (["--max-episode-frames", "9"], "--max-episode-frames is a flag of games on a page, such as mock"),
        (["--add", "game.json"], "--add is a flag of games on a page, such as mock"),
        (["--opponent", "gen_7"], "has no gen_7; its generations: gen_0, gen_10"),
        (["--opponent", "equilibrum"], "did you mean 'equilibrium'?"),
    ],
)
def test_flags_of_pages_and_unknown_opponents_are_refused(kuhn_run, monkeypatch, capsys, flags, words):
    assert call(monkeypatch, kuhn_run.path, *flags) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert words in line


@pytest.mark.parametrize("flags", [("--seat", 0), ("--seed", 1), ("--opponent", "random")])
def test_flags_of_the_terminal_are_refused_for_fights(monkeypatch, capsys, flags):
    assert call(monkeypatch, "weak", *flags) == 2
    assert f"{flags[0]} is a flag of games in the terminal, and fights are on a page" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("--game-type", "selfplay.examples.tic_tac_toe:TicTacToe"), ("kuhn_run",)])
def test_the_help_of_a_plain_game_has_no_word_of_fights(kuhn_run, monkeypatch, capsys, arguments):
    assert call(monkeypatch, *(kuhn_run.path if word == "kuhn_run" else word for word in arguments), "--help") == 0
    told = capsys.readouterr().out
    assert "--opponent" in told
    assert [word for word in ("Fight", "fight", "page", "--serve", "character") if word in told] == []
    assert call(monkeypatch, "weak", "--help") == 0
    assert "--serve" in capsys.readouterr().out


def test_a_game_brings_its_own_verb(kuhn_run, monkeypatch, capsys):
    bring(monkeypatch, "kuhn", replace(find_game("kuhn"), verbs={"play": "tests.commands.own_play"}))
    assert call(monkeypatch, "--any-flag", kuhn_run.path) == 7


def test_a_game_without_a_single_one_is_refused(kuhn_run, monkeypatch, capsys):
    bring(monkeypatch, "kuhn", replace(find_game("kuhn"), single=None))
    assert call(monkeypatch, kuhn_run.path) == 2
    assert "kuhn has no game that a person could play" in capsys.readouterr().err
