"""Playing in the terminal: what is shown, asked, refused and told, and what a policy is fed."""

import io
import itertools
import re
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from envs.errors import GameError, UnknownNameError
from envs.game import Game
from envs.half_blocks import UPPER_HALF
from envs.registry import GAMES
from selfplay.checkpoint import ActionHeads, NetworkSpec, create_run, save_generation
from selfplay.commands.cli import play as command
from selfplay.commands.play.terminal import LONGEST_LINE, fitted, play_in_terminal, read_line
from selfplay.errors import IncompatibleError
from selfplay.policy.policy import Policy, parameters_of
from selfplay.policy.recurrent_state import RecurrentState
from tests.policy.networks import network, policy_meta


def policy_for(game, kind="mlp", **changes):
    sizes = tuple(np.atleast_1d(game.num_actions).tolist())
    spec = NetworkSpec(kind=kind, obs_width=game.obs_width, hidden=(8, 8))
    heads = ActionHeads(binary=0, sizes=sizes)
    meta = policy_meta(network=spec, actions=heads, frame_skip=1, delay=0, encoder_version=1, **changes)
    return Policy(meta, network(1, spec=spec, heads=heads).requires_grad_(requires_grad=False).eval())


def played(game, opponent, *answers, seed=0, **options):
    """The score and the lines of a play; prompts stand in the lines, with their answers."""
    lines, left = [], iter(answers)

    def read(prompt):
        answer = next(left, None)
        if answer is None:
            lines.append(prompt)
            raise EOFError
        lines.append(f"{prompt}{answer[:20]}")
        return answer

    score = play_in_terminal(game, opponent, read, lines.append, seed=seed, size=lambda: (80, 24), **options)
    assert next(left, None) is None  # all was asked for
    return score, lines


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
    score, lines = played(Together(), "slow", "two", "TWO", "n")
    assert lines == [
        "Game 1: you have seat 0, slow has seat 1. Type help or quit any time.",
        "[0. 0.]",
        "Your action (One, two): two",
        "You: two",
        "slow: One",
        "[2. 1.]",
        "Your action (One, two): TWO",
        "You: two",
        "slow: One",
        "You won. Rewards: 3 for you, 0 for slow. Score: 1 won, 0 lost, 0 drawn.",
        "Again? [Y/n] n",
    ]
    assert (score.won, score.lost, score.drawn) == (1, 0, 0)


def test_seats_swap_and_games_and_scores_go_on():
    game = Together()
    score, lines = played(game, "slow", *["two", "two", ""], *["one"] * 4, "maybe", "y", "quit", seat=1)
    assert (score.won, score.lost, score.drawn) == (1, 0, 1)
    seats = [re.search(r"you have seat (\d)", line)[1] for line in lines if line.startswith("Game")]
    assert seats == ["1", "0", "1"]
    assert "Answer y or n." in lines
    assert lines[-1] == "Score: 1 won, 0 lost, 1 drawn."
    assert len(set(game.seeds)) == len(game.seeds)


def test_in_turns_only_the_other_players_move_is_told_and_one_may_lose():
    policy = policy_for(Count())
    score, lines = played(Count(), policy, "one", "one", "one", "n", seat=1)
    assert score.lost == 1
    assert not [line for line in lines if line.startswith("You:")]
    assert 2 <= sum(line.startswith("gen_0: ") for line in lines) <= 4


@pytest.mark.parametrize("wrong", ["none", "three", "", "1", "x" * 999])
def test_what_is_not_legal_is_one_line_and_asked_again(wrong):
    _, lines = played(Together(), "slow", wrong, "quit")
    assert lines[3:] == [
        "That is no legal action (valid: One, two; or help, quit).",
        "Your action (One, two): quit",
        "Score: 0 won, 0 lost, 0 drawn.",
    ]


def test_long_lines_are_refused_and_help_lists_the_actions():
    _, lines = played(Together(), "slow", "two".ljust(LONGEST_LINE + 1), "HELP", "two", "two", "n")
    assert lines[3] == "An answer has at most 1,000 characters."
    assert lines[5] == "Actions: One, two. Others: help, quit."


def test_a_name_in_its_own_case_comes_before_one_in_another():
    class Cased(Together):
        def action_name(self, action):
            return "xnN"[action]

    _, lines = played(Cased(), "slow", "N", "quit")
    assert "You: N" in lines
    _, lines = played(Cased(), "slow", "n", "quit")
    assert "You: n" in lines


def test_the_end_of_the_input_ends_it_anywhere():
    for answers in ([], ["two", "two"]):
        score, lines = played(Together(), "slow", *answers)
        assert lines[-2:] == ["", f"Score: {score.won} won, 0 lost, 0 drawn."]


def test_actions_of_several_parts_are_numbers_with_commas():
    game = Parts()
    _, lines = played(game, "first", "1", "0,0", "0,1,1", "a,1", "-1,1", "1,²", " 1 , 2 ", "n")
    asked = [line for line in lines if line.startswith("Your action (0-1,1-2): ")]
    assert len(asked) == 7
    assert game.given == [[1, 2], [0, 2]]
    assert lines[-4:] == [
        "first: 0,2",
        "The game was ended after 1 steps.",
        "You drew. Rewards: 0 for you, 0 for first. Score: 0 won, 0 lost, 1 drawn.",
        "Again? [Y/n] n",
    ]
    _, lines = played(game, "first", "help", "quit")
    assert "Actions: 0-1,1-2. Others: help, quit." in lines


def test_a_game_ends_after_its_longest():
    game = Together()
    game.max_steps = 2
    _, lines = played(game, "slow", "one", "one", "n")
    assert "The game was ended after 2 steps." in lines


def test_text_is_shown_where_it_has_changed():
    game = Together()
    game.render = lambda: f"{max(game.sums) // 2}\n"
    _, lines = played(game, "slow", "one", "one", "two", "n")
    assert [line for line in lines if line.isdecimal()] == ["0", "1", "2"]


def test_a_picture_is_shown_in_the_size_of_the_terminal():
    game, pixels = Together(), np.zeros((400, 300, 3), np.uint8)
    pixels[:200] = (255, 0, 0)
    game.render = lambda: pixels
    _, lines = played(game, "slow", "quit")
    rows = lines[1].split("\n")
    assert [row.count(UPPER_HALF) for row in rows] == [30] * 20
    assert all("255;0;0" in row for row in rows[:10])
    assert not any("255;0;0" in row for row in rows[10:])


@pytest.mark.parametrize(
    ("shape", "columns", "rows", "size"),
    [
        ((100, 200), 80, 100, (40, 80)),
        ((100, 20), 80, 10, (20, 4)),
        ((6, 8), 80, 24, (6, 8)),  # never larger
        ((7, 8), 80, 24, (6, 8)),  # an even height
        ((1, 900), 80, 24, (2, 80)),
    ],
)
def test_pictures_keep_their_shape(shape, columns, rows, size):
    assert fitted(np.zeros((*shape, 3), np.uint8), columns, rows).shape == (*size, 3)


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

    _, lines = played(Wide(), "slow", "help", "99", "n")
    assert len(lines[1]) < 100
    assert "..." in lines[1]
    assert lines[2].endswith(" 22, 23, ...): help")
    assert "97, 98, 99. Others" in lines[3]


def test_games_that_break_the_rules_are_named():
    with pytest.raises(GameError, match=r"player wrong: \[0\] is not legal"):
        played(Together(), "wrong", "one")
    game = Together()
    game.legal = lambda seat: [False] * 3
    with pytest.raises(GameError, match="seat 0 is to act, but nothing is legal"):
        played(game, "slow")
    game.legal = lambda seat: [True] * 4
    with pytest.raises(GameError, match=r"observations: ValueError: .*\(4,\)"):
        played(game, "slow")


def test_opponents_must_be_of_the_game():
    with pytest.raises(UnknownNameError, match=r"unknown scripted player 'slw'; did you mean 'slow'"):
        played(Together(), "slw")
    with pytest.raises(IncompatibleError, match=r"of 13 numbers and gives actions of \(3,\) choices; this game has 2"):
        played(Together(), policy_for(GAMES["kuhn"].single()))


@pytest.mark.parametrize("opponent", ["random", "policy"])
def test_a_seed_gives_the_same_games_and_another_gives_others(opponent):
    def told(seed):
        game = GAMES["mixup"].single()
        other = policy_for(game) if opponent == "policy" else opponent
        return played(game, other, *itertools.islice(itertools.cycle(["attack", "shield"]), 1), "quit", seed=seed)[1]

    assert told(3) == told(3)
    assert len({tuple(told(seed)) for seed in range(12)}) > 1


def test_a_policy_with_memory_also_decides_where_it_waits():
    seen = []

    class Recorder(Policy):
        def act(self, obs, generator=None, legal=None, **options):
            chosen = super().act(obs, generator, legal, **options)
            seen.append((obs.copy(), legal[0].tolist(), options["memory"].all().clone()))
            return chosen

    game, memory = GAMES["kuhn"].single(), RecurrentState(1)
    policy = policy_for(game, "gru")
    played(game, Recorder(policy.meta, policy.network), "bet", "", "pass", "quit")
    waits, answers, first, *_ = seen
    assert [(obs.any(), legal) for obs, legal, _ in (waits, answers)] == [
        (False, [True, False, False]),
        (True, [False, True, True]),
    ]
    for obs, _, after in (waits, answers):
        with torch.inference_mode():
            memory.step(policy.network, torch.from_numpy(obs), slice(None))
        torch.testing.assert_close(after, memory.all())
    memory.forget([0])  # the next game begins
    with torch.inference_mode():
        memory.step(policy.network, torch.from_numpy(first[0]), slice(None))
    torch.testing.assert_close(first[2], memory.all())


def source(data):
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")


def test_lines_are_read_whole_and_of_long_ones_a_part():
    out = io.StringIO()
    stdin = source("bét\r\n".encode() + b"x" * 50_000 + b"\n\xff\n\nlast")
    first, long, broken, empty, last = (read_line("? ", out, stdin) for _ in range(5))
    assert (first, broken, empty, last) == ("bét", "\ufffd", "", "last")
    assert LONGEST_LINE < len(long) < 5 * LONGEST_LINE
    with pytest.raises(EOFError):
        read_line("? ", out, stdin)
    assert out.getvalue() == "? " * 6


@pytest.fixture
def kuhn_run(tmp_path):
    run = create_run(tmp_path / "run")
    run.write_run({})
    for iteration in (0, 10):
        policy = policy_for(GAMES["kuhn"].single(), config={"game": {"type": "kuhn"}}, iteration=iteration)
        save_generation(run, policy.meta, parameters_of(policy.network))
    return run


def call(monkeypatch, *arguments, answers=b""):
    monkeypatch.setattr(sys, "argv", ["selfplay play", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", source(answers))
    return command.main()


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


def test_the_command_plays_a_policy_and_finds_the_newest_run(kuhn_run, monkeypatch, capsys):
    assert call(monkeypatch, kuhn_run.generations / "gen_0") == 0
    assert "gen_0 has seat 1" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["selfplay play"])
    monkeypatch.setattr(sys, "stdin", source(b""))
    assert command.main(kuhn_run.path.parent) == 0
    assert "gen_10 has seat 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--serve"], "--serve has no use here: kuhn is played in the terminal"),
        (["--generations", "2"], "--generations has no use here: kuhn is played in the terminal"),
        (["--max-episode-frames", "9"], "--max-episode-frames has no use here: kuhn is played in the terminal"),
        (["--add", "game.json"], "--add has no use here: kuhn is played in the terminal"),
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
    assert f"{flags[0]} has no use here: mock is played on a page" in capsys.readouterr().err


def test_a_game_without_a_single_one_is_refused(kuhn_run, monkeypatch, capsys):
    monkeypatch.setitem(GAMES, "kuhn", replace(GAMES["kuhn"], single=None))
    assert call(monkeypatch, kuhn_run.path) == 2
    assert "kuhn has no game that a person could play" in capsys.readouterr().err
