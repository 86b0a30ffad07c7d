"""Games recorded into one file, from the command line."""

import numpy as np
import pytest

from selfplay.commands import record as recording
from selfplay.commands.cli.record import main
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.imitation.recorded_games import Again, RecordedGame, examples_of
from tests.run.runs import train
from tests.scripts.commands import mistake

NIM, DUEL, UNCOUNTED = (
    "tests.imitation.own_games:Nim",
    "tests.imitation.own_games:Duel",
    "tests.games.games:Uncounted",
)
SMALL = ("--num-games", 8, "--rollout-length", 16, "--hidden", "16", "--batch-size", "64", "--save-interval", 1)


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["record", *map(str, arguments)])
    return main()


def recorded(monkeypatch, path, game, players, games, seed=0):
    flags = ("--game-type", game, "--players", players, "--games", games, "--seed", seed, "--out", path)
    assert call(monkeypatch, *flags) == 0
    return [RecordedGame.model_validate_json(line) for line in path.read_text().splitlines()]


def again(game):
    single = find_game(game).single
    return Again(lambda: single(False), 1)


@pytest.mark.parametrize(
    ("game", "players"), [(NIM, "perfect,random"), (DUEL, "steady,random"), ("kuhn", "equilibrium,random")]
)
def test_games_repeat_themselves_from_the_file(tmp_path, monkeypatch, capsys, game, players):
    monkeypatch.setattr(recording, "WIDEST", 4)
    records = recorded(monkeypatch, tmp_path / "a.jsonl", game, players, 10)
    said = capsys.readouterr().out.splitlines()
    assert said[-3:-1] == [f"10 games in {tmp_path / 'a.jsonl'}", f"  players: {players.replace(',', ', ')}"]
    one, other = players.split(",")
    assert [record.players for record in records[:4]] == [(one, other), (other, one), (other, one), (one, other)]
    assert len({record.seed for record in records}) == 10
    for record in records:
        assert (record.game, record.version) == (game, find_game(game).encoder_version)
        assert sum(map(len, examples_of(again(game), record))) > 0


def test_the_perfect_player_does_what_it_would(tmp_path, monkeypatch):
    records = recorded(monkeypatch, tmp_path / "a.jsonl", NIM, "perfect,random", 20)
    for record in records:
        mine = examples_of(again(NIM), record)[record.players.index("perfect")]
        np.testing.assert_array_equal(mine.action[:, 0], (mine.obs.argmax(1) - 1) % 4 % 3)


def test_the_same_seed_gives_the_same_file_in_blocks_of_any_size(tmp_path, monkeypatch):
    recorded(monkeypatch, tmp_path / "a.jsonl", NIM, "perfect,random", 9)
    monkeypatch.setattr(recording, "WIDEST", 2)
    recorded(monkeypatch, tmp_path / "b.jsonl", NIM, "perfect,random", 9)
    recorded(monkeypatch, tmp_path / "c.jsonl", NIM, "perfect,random", 9, seed=1)
    same, again, other = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert same == again != other


def test_generations_of_a_run_play_and_one_alone_plays_itself(tmp_path, monkeypatch, capsys):
    train(tmp_path / "run", "--game-type", NIM, "--timesteps", 8 * 16, size=SMALL)
    records = recorded(monkeypatch, tmp_path / "a.jsonl", NIM, tmp_path / "run" / "generations" / "gen_1", 3)
    (name,) = {name for record in records for name in record.players}
    assert name.startswith("gen_1-")
    assert f"  players: {name}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--players", "a,b"], "--players is for games that are no fights (--game-type NAME)"),
        (["--game-type", "dolphin"], "--game-type dolphin: it keeps its own replays"),
        (["--game-type", "kuun"], "did you mean kuhn?"),
        (["--game-type", NIM], f"--players A,B is needed: players of {NIM} (scripted: random, perfect)"),
        (["--game-type", NIM, "--players", ","], "--players A,B is needed"),
        (["--game-type", NIM, "--players", "perfect", "--bot", "random"], "--bot: did you mean --players?"),
        (["--game-type", NIM, "--players", "perfect", "--opponent", "random"], "did you mean --players?"),
        (["--game-type", NIM, "--players", "perfect", "--stage", "battlefield"], "unknown flag --stage"),
        (["--game-type", NIM, "--players", "perfct,random"], "did you mean 'perfect'"),
        (["--game-type", NIM, "--players", "perfect", "--games", "0"], "--games 0: at least 1 is needed"),
        (["--game-type", NIM, "--players", "perfect", "--out", __file__], f"--out {__file__}: exists already"),
        (["--game-type", UNCOUNTED, "--players", "random"], "do not repeat themselves"),
    ],
)
def test_mistakes_are_one_clear_line(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in mistake(capsys, "record", lambda: call(monkeypatch, *arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_game_that_fails_leaves_no_file(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise KeyError("stones")

    allow(NIM)
    monkeypatch.setattr("tests.imitation.own_games.Nim.step", fail)
    flags = ("--game-type", NIM, "--players", "perfect", "--out", tmp_path / "a.jsonl")
    assert "KeyError: 'stones'" in mistake_after(capsys, lambda: call(monkeypatch, *flags))
    assert list(tmp_path.iterdir()) == []


def mistake_after(capsys, run):
    assert run() != 0
    return capsys.readouterr().err
