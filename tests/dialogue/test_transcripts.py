from dataclasses import replace

from selfplay.dialogue.contract import GameOutcome, Turn
from selfplay.dialogue.report.transcripts import LATEST, LONGEST, TURNS, read_transcripts
from selfplay.dialogue.runner import Played
from selfplay.dialogue.transcripts import choose, keep_latest, keep_transcripts


def played(number, rewards, turns=()):
    read = (("The rules.", "Your card: king."), ("The rules.",))
    return Played(0, f"0-{number}", 1, GameOutcome(rewards, "agreed"), tuple(turns), {}, read, ())


def test_the_best_the_worst_and_another():
    games = [played(i, (reward, reward)) for i, reward in enumerate((0.5, 0.9, 0.1, 0.7))]
    chosen = {one.kind: one.game for one in choose(games, 10, 0)}
    assert chosen["best"] == "0-1"
    assert chosen["worst"] == "0-2"
    assert chosen["random"] in ("0-0", "0-3")
    assert {one.game for seed in range(20) for one in choose(games, 10, seed) if one.kind == "random"} == {"0-0", "0-3"}
    assert [one.kind for one in choose(games[:1], 10, 0)] == ["best"]
    assert choose([], 10, 0) == []


def test_where_rewards_cancel_seat_0_decides():
    games = [played(i, (reward, -reward)) for i, reward in enumerate((1.0, 2.0, -2.0))]
    assert [one.game for one in choose(games, 10, 0)] == ["0-1", "0-2", "0-0"]


def test_private_text_stays_apart():
    turns = [
        Turn(0, "I hold the king. [bet]", "I hold the king.", "bet"),
        Turn(1, "hm", "hm", "", "Write [pass] or [bet]."),
    ]
    (one,) = choose([played(0, (1.0, 1.0), turns)], 10, 0)
    assert one.told == ("The rules.\n\nYour card: king.", "The rules.")
    assert (one.turns[0].private, one.turns[0].public, one.turns[0].error) == ("I hold the king.", "[bet]", None)
    assert (one.turns[1].private, one.turns[1].public, one.turns[1].error) == ("hm", "", "Write [pass] or [bet].")


def test_the_seat_of_an_opponent_has_its_name(tmp_path):
    games = [replace(played(0, (1.0, 1.0)), learner=(1,), opponent="gen_4"), played(1, (0.0, 0.0))]
    keep_latest(tmp_path, games, 10, 0)
    assert [one.opponents for one in read_transcripts(tmp_path, LATEST)] == [("gen_4", ""), ("", "")]


def test_long_games_are_cut():
    turns = [Turn(i % 2, "x" * (LONGEST + 5), "", "bet") for i in range(TURNS + 7)]
    (one,) = choose([played(0, (1.0, 1.0), turns)], 10, 0)
    assert len(one.turns) == TURNS
    assert one.left_out == 7
    assert len(one.turns[0].public) == LONGEST
    assert one.turns[0].public.endswith("…")


def test_the_games_of_the_last_iteration_replace_those_before(tmp_path):
    for iteration in (10, 11):
        keep_latest(tmp_path, [played(i, (i, i)) for i in range(3)], iteration, 0)
    assert [one.iteration for one in read_transcripts(tmp_path, LATEST)] == [11, 11, 11]
    assert read_transcripts(tmp_path) == ()


def test_the_file_holds_what_was_kept(tmp_path):
    for iteration in (10, 20):
        keep_transcripts(tmp_path, [played(i, (i, i)) for i in range(3)], iteration, 0)
    assert [(one.iteration, one.kind) for one in read_transcripts(tmp_path)] == [
        (10, "best"), (10, "worst"), (10, "random"), (20, "best"), (20, "worst"), (20, "random"),
    ]  # fmt: skip
