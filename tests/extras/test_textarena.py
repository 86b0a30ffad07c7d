"""Games of TextArena: all that two can play end, equal seeds give equal games, and runs of them go on to the bit."""

import random
import sys
import time
from pathlib import Path
from subprocess import DEVNULL

import numpy as np
import pytest

from selfplay.dialogue.contract import RandomReplies
from selfplay.dialogue.text_dialogue import TextDialogue, begun
from selfplay.games import plugins
from selfplay.games.errors import GameError
from selfplay.games.registry import find_kind
from tests.support.processes import Process

pytest.importorskip("textarena", reason="needs TextArena, which is not installed")
pytestmark = [pytest.mark.extras, pytest.mark.timeout(1800)]

SPIRAL = ["TicTacToe-v0", "KuhnPoker-v0", "SimpleNegotiation-v0"]
ODD = ["", "[", "]]", "[-1]", "[9999999]", "\x00\u00e9\u4e2d\U0001f600", "[Accept]", "[0 0]", "[a1 b2]", "x" * 3000]
ROOT = Path(__file__).parent.parent.parent


def names():
    from selfplay.games.textarena_games import VARIANTS, library

    return [name for name in library().envs.registration.ENV_REGISTRY if not name.endswith(VARIANTS)]


def find(name):
    return find_kind(f"textarena:{name}").entry()


def begin(game, seed, retries=1000):
    return TextDialogue(
        begun(game, "game", seed),
        "game",
        retries=retries,
        error_penalty=0.0,
        loss=1.0,
        max_turns=200,
        shared=False,
        record=dict,
    )


class Writer:
    """The player of the game, or odd replies."""

    def __init__(self, game, seed, odd):
        self.known = game.players["random"](np.random.default_rng(seed))
        self.rng, self.odd = random.Random(seed), odd

    def reply(self, read):
        return self.rng.choice(ODD) if self.rng.random() < self.odd else self.known.reply(read)


def turn(played, writers):
    read = played.observe(played.mover)
    done = played.act(writers[played.mover].reply(read))
    return read, done.seat, done.text, done.error


def play(game, seed, odd=0.0, turns=40):
    played, writers, lines = begin(game, seed), [Writer(game, seed + seat, odd) for seat in (0, 1)], []
    while played.outcome is None and len(lines) < turns:
        lines.append(turn(played, writers))
    return played, lines


def test_each_game_is_played_or_refused_in_one_line():
    played, refused = set(), {}
    for name in names():
        try:
            game = find(name)
        except GameError as error:
            refused[name] = str(error)
            continue
        played.add(name)
        for odd in (0.0, 0.3, 1.0):
            _, lines = play(game, 7, odd)
            assert all(isinstance(read, str) for read, *_ in lines)
    assert all(text.startswith(f"--game-type textarena:{name}: ") for name, text in refused.items())
    assert not any("\n" in text for text in refused.values())
    assert {*SPIRAL, "PigDice-v0", "Stratego-v0", "LiarsDice-v0"} <= played
    assert "number of players has to be 1" in refused["Sudoku-v0"]
    assert "exactly four players" in refused["SettlersOfCatan-v0"]
    assert "word lists of NLTK" in refused["WordChains-v0"]
    assert "language models on the network" in refused["Debate-v0"]
    assert len(played) >= 100


@pytest.mark.parametrize("name", [*SPIRAL, "Battleship-v0", "LiarsDice-v0", "PigDice-v0-short"])
def test_games_depend_on_their_seeds_alone(name):
    game = find(name)
    alone = [play(game, seed)[1] for seed in range(4)]
    random.seed(99)
    np.random.seed(99)
    kept, writers = random.getstate(), [[Writer(game, seed + seat, 0.0) for seat in (0, 1)] for seed in range(4)]
    games, lines = [begin(game, seed) for seed in range(4)], [[], [], [], []]
    while any(one.outcome is None and len(done) < 40 for one, done in zip(games, lines, strict=True)):
        for one, writer, done in zip(games, writers, lines, strict=True):
            if one.outcome is None and len(done) < 40:
                done.append(turn(one, writer))
    assert lines == alone
    assert random.getstate() == kept


def test_a_second_invalid_move_loses():
    played = begin(find("TicTacToe-v0"), 0)
    assert "Available Moves: '[0]'" in played.observe(0)
    first = played.act("the corner")
    assert (first.seat, first.error) == (0, "The submitted move does not follow the correct format.")
    assert played.observe(0) == f"Error: {first.error}"
    assert played.act("[9]").error is None
    assert (played.outcome.rewards, played.outcome.reason) == ((-1.0, 1.0), "refused")


def test_a_seat_reads_what_is_new_and_a_win_is_paid():
    played, read = begin(find("TicTacToe-v0"), 0), []
    for move in (0, 3, 1, 4, 2):
        read.append(played.observe(played.mover))
        played.act(f"I take [{move}]")
    assert "Player 1 placed their symbol (X) in cell 3." in read[2]
    assert not any("in cell 0" in text or "in cell 3" in text for text in read[4:])
    assert all(text.count("Current Board") == 1 for text in read)
    assert played.outcome.rewards == (1.0, -1.0)
    assert "You are Player 1" in played.system(1)


def test_a_reply_that_never_ends_costs_what_losing_costs():
    for reason, rewards in (("cut_off", (-1.0, 0.0)), ("failed", (0.0, 0.0))):
        played = begin(find("TicTacToe-v0"), 0)
        played.fail(reason)
        assert played.outcome.rewards == rewards
    refused = begin(find("TicTacToe-v0"), 0, retries=0)
    refused.act("no move")
    assert refused.outcome.rewards == (-1.0, 0.0)


def test_what_is_private_is_read_by_its_seat_alone():
    played = begin(find("SimpleNegotiation-v0"), 0)
    assert "[Wheat]" in played.observe(0)  # amounts and values depend on the seed
    assert played.system(0) == ""
    others = begin(find("SimpleNegotiation-v0"), 0)
    others.act("[Accept]")
    assert "You are Player 1" in others.observe(1)


def test_names():
    assert not plugins.is_code("textarena:TicTacToe-v0")
    with pytest.raises(GameError, match=r"unknown game of TextArena 'TicTacToe'; did you mean 'TicTacToe-v0'"):
        find("TicTacToe")


def test_without_textarena_its_command_is_named(monkeypatch):
    from selfplay.games import textarena_games

    textarena_games.library.cache_clear()
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(GameError, match=r"TextArena is missing: pip install .*\[textarena\]"):
        textarena_games.class_of_name("textarena:TicTacToe-v0")
    textarena_games.library.cache_clear()


def test_random_replies_of_the_game_are_known_where_it_quotes_them():
    player = find("KuhnPoker-v0").players["random"](np.random.default_rng(0))
    assert not isinstance(player, RandomReplies)
    assert {player.reply("Your available actions are: '[fold]', '[call]'") for _ in range(20)} == {"[fold]", "[call]"}
    assert player.reply("nothing new") in ("[fold]", "[call]")


# ---------------------------------------------------------------- runs


def train(folder, *flags):
    command = [sys.executable, "-m", "selfplay", "train", "--checkpoint", str(folder), *flags]
    return Process(command, cwd=ROOT, stdout=DEVNULL, limit_s=600)


def generations(folder):
    """Bytes of the weights of each generation by its name."""
    found = (folder / "generations").glob("gen_*")
    return {path.name: [file.read_bytes() for file in sorted(path.rglob("*.safetensors"))] for path in found}


@pytest.mark.parametrize("name", SPIRAL)
def test_ten_iterations_killed_and_resumed_are_those_of_a_run_that_was_not(name, tmp_path):
    flags = ["--game-type", f"textarena:{name}", "--games", "80", "--num-games", "8", "--games-per-state", "4"]
    flags += ["--save-interval", "2", "--start-tokens", "60000", "--evaluation-states", "0", "--seed", "3"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train(whole, *flags).wait() == 0
    killed = train(parts, *flags)
    while killed.poll() is None and not (parts / "generations" / "gen_2").exists():
        time.sleep(0.05)
    assert killed.poll() is None
    killed.kill()
    killed.wait()
    assert train(parts, *flags, "--resume").wait() == 0
    weights = generations(whole)
    assert "gen_10" in weights
    assert all(weights.values())
    assert weights["gen_0"] != weights["gen_10"]  # something was learned
    assert generations(parts) == weights
