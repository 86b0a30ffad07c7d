"""A text game of one's own, from a folder outside of this project."""

import json
import random
import re
import shutil
import sys

import numpy as np
import pytest

from selfplay import TextGame, allow
from selfplay.commands.time_limit import TimeLimit
from selfplay.dialogue.commands.check_game import examine
from selfplay.dialogue.commands.play import play_in_terminal
from selfplay.dialogue.contract import AGREED, CUT_OFF, ENDED, LONG, REFUSED
from selfplay.dialogue.evaluation import evaluate, held_out
from selfplay.dialogue.find import find_dialogue, text_kind
from selfplay.dialogue.text_entry import entry_of
from selfplay.dialogue.text_tree import text_tree
from selfplay.examples import word_game
from selfplay.examples.word_game import Hint
from selfplay.games.errors import EnumerationError, GameError
from selfplay.games.registry import find_kind
from selfplay.games.solved.enumeration import Limits
from tests.support.processes import finish

HINT = "selfplay.examples.word_game:Hint"
SELFPLAY = (sys.executable, "-m", "selfplay")


class Call(TextGame):
    """Seat 0 tosses a coin and names it, seat 1 believes it or not; the loser pays."""

    tags, retries, max_turns, payoff_range, objective = ("heads", "tails"), 1, 4, (-1, 1), "reward"

    def reset(self, seed):
        self.coin, self.mover, self.said = random.Random(seed).choice(self.tags), 0, ""

    def rules(self, seat):
        return "Name the coin." if seat == 0 else "Guess it."

    def observe(self, seat):
        return self.said if seat else self.coin

    def legal(self, seat):
        return [f"[{tag}]" for tag in self.tags]

    def act(self, text):
        if text not in self.legal(self.mover):
            return "name a side"
        if self.mover == 0:
            self.said, self.mover = text, 1
            return None
        won = 1.0 if self.coin in text else -1.0
        return -won, won


def begun(game=Call, seed=0, embedded=False, **settings):
    entry = entry_of("tests:Game", game)
    rules = entry.configure(embedded, settings)
    return entry.start(rules, entry.states(rules, [seed])[0])


def broken(game):
    """What the check of a game finds broken."""
    module = sys.modules[__name__]
    setattr(module, game.__name__, game)
    name = f"{__name__}:{game.__name__}"
    allow(name)
    find_kind.__globals__["_described"].cache_clear()
    return examine(name, TimeLimit(60.0, lambda _: None)).broken


# ---------------------------------------------------------------- one game


def test_a_seat_reads_rules_observations_and_refusals():
    game = begun()
    assert game.system(0) == "Name the coin."
    assert begun(embedded=True).system(0) == ""
    coin = game.observe(0)
    assert game.observe(0) == ""  # read once
    assert game.act("hm").error == "name a side"
    assert (game.mover, game.observe(0)) == (0, "Error: name a side")
    turn = game.act(f"It is no secret. [{coin.upper()}]")
    assert (turn.private, turn.kind, turn.error) == ("It is no secret.", coin, None)
    assert (game.mover, game.observe(1)) == (1, f"[{coin}]")
    game.act(f"[{coin}]")
    assert (game.outcome.reason, game.outcome.rewards) == (ENDED, (-2.0, 1.0))  # a refusal cost 1
    assert game.record()["replies"] == [turn.text for turn in game.turns]
    with pytest.raises(GameError, match="the game is over"):
        game.act("[heads]")


def test_a_record_gives_the_same_game_again():
    entry = entry_of("tests:Game", Call)
    for seed in (0, 1, 2, 2**63):
        game = begun(seed=seed)
        assert entry.load(json.loads(json.dumps(game.record()))) == seed
        assert begun(seed=seed).observe(0) == game.observe(0)
    with pytest.raises(GameError, match="tests:Game: a record has a seed"):
        entry.load({"seed": "1"})


def test_too_many_refusals_end_a_game_and_cost_the_mover():
    game = begun()
    for _ in range(2):
        game.act("")
    assert (game.outcome.reason, game.outcome.rewards) == (REFUSED, (-2.0, 0.0))
    game = begun()
    game.fail(CUT_OFF)
    assert game.outcome.rewards == (-1.0, 0.0)


def test_a_game_that_does_not_end_is_ended():
    class Endless(Call):
        def act(self, text):
            self.mover = 1 - self.mover

    game = begun(Endless, max_turns=5)
    for _ in range(5):
        game.act("[heads]")
    assert (game.outcome.reason, game.outcome.rewards) == (LONG, (0.0, 0.0))


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"observe": lambda self, seat: None}, r"observe\(0\) returned None; it must return a str \(.*py:\d+\)"),
        ({"legal": lambda self, seat: []}, r"legal returned \[\]; it must return a list of at least one str"),
        ({"act": lambda self, text: (1, float("nan"))}, r"act returned \(1, nan\); it must return None, a reason"),
        ({"act": lambda self, text: 1.0}, r"act returned 1.0; it must return"),
        ({"act": lambda self, text: setattr(self, "mover", 2)}, r"after act, mover is 2; it must be 0 or 1 \(.*\)"),
        ({"reset": lambda self, seed: None}, r"after reset, mover is None"),
        (
            {"reset": lambda self, seed: 1 / 0},
            r"reset: ZeroDivisionError: division by zero \(.*test_text_game.py:\d+\)",
        ),
    ],
)
def test_what_a_game_must_not_return_is_named(methods, message):
    def play():
        game = begun(type("Wrong", (Call,), methods))
        game.legal()
        game.observe(0)
        game.act("[heads]")

    with pytest.raises(GameError, match=f"^(--game-type )?tests:Game: (tests:Game: )?{message}"):
        play()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"objective": "win"}, "unknown objective of tests:Game 'win'"),
        ({"retries": -1}, "retries is -1; a whole number of at least 0 is needed"),
        ({"payoff_range": (1, -1)}, "payoff_range is"),
        ({"observe": TextGame.observe}, "has no observe"),
    ],
)
def test_attributes_that_cannot_be_are_named(attributes, message):
    with pytest.raises(GameError, match=message):
        begun(type("Wrong", (Call,), attributes))


def test_settings_are_those_of_the_class_and_of_the_user():
    entry = entry_of("tests:Game", Call)
    rules = entry.configure(True, {"retries": 3})
    assert (rules.retries, rules.error_penalty, rules.max_turns, rules.told) == (3, 1.0, 4, "nothing")
    with pytest.raises(GameError, match="unknown setting of tests:Game 'size'"):
        entry.configure(True, {"size": 4})


# ---------------------------------------------------------------- what is found from the game


def test_the_vocabulary_has_legal_replies_words_and_characters():
    entry = entry_of(HINT, Hint)
    words = entry.vocabulary(entry.configure(True, {}))
    assert words[:12] == [*Hint.words, *"123456"] or set(words[:12]) == {*Hint.words, *"123456"}
    assert {"secret", " 6", "hint", " huge", "z", "\n"} <= set(words)
    assert len(words) == len(set(words))
    assert entry.fingerprint() == entry_of(HINT, Hint).fingerprint()


def test_random_games_show_whether_the_reward_is_shared():
    quiet = type("Quiet", (Hint,), {"objective": None})
    assert entry_of("tests:Quiet", quiet).shared_reward
    assert not entry_of("tests:Call", type("Silent", (Call,), {"objective": None, "payoff_range": None})).shared_reward
    assert begun(Hint).act("tiny").error is None


def test_the_first_games_that_a_small_model_reads_depend_on_what_was_read():
    entry = entry_of(HINT, Hint)
    rules, replies = entry.configure(True, {}), [str(number) for number in range(6)]
    players = [entry.start_player(rules, seed) for seed in range(400)]
    counts = [sorted(map([each.among(replies, text) for each in players].count, replies)) for text in ("a", "b", "c")]
    assert all(max(others) < 80 < 160 < most for *others, most in counts)
    assert players[0].among((), "a") != ""


def test_scripted_players_are_functions_or_classes():
    class Knows:
        def __init__(self, rng):
            self.rng = rng

        def reply(self, observation):
            what, said = observation.split(" ")
            if what == "hint":
                return str(Hint.words.index(said) + 1)
            return Hint.words[int(said) - 1]

    def careless(observation, rng):
        return str(rng.integers(1, 7)) if "hint" in observation else "low"

    game = type("Played", (Hint,), {"players": {"careless": careless, "knows": Knows}})
    entry = entry_of("tests:Played", game)
    rules = entry.configure(True, {})
    assert list(entry.players) == ["random", "careless", "knows"]
    results = [
        evaluate(entry, rules, lambda s, n=name: entry.players[n](rules, s), held_out(64)) for name in entry.players
    ]
    assert [round(float(each.rewards.mean()), 1) for each in results][2] == 1.0
    assert all(set(each.endings) == {AGREED} for each in results)
    bad = entry_of("tests:Bad", type("Bad", (Hint,), {"players": {"bad": lambda text, rng: 3}}))
    with pytest.raises(GameError, match=r"tests:Bad: player bad: its reply to 'secret \d' is 3; a str is needed"):
        bad.vocabulary(rules)


# ---------------------------------------------------------------- exact figures


def test_a_small_game_is_written_down_whole_with_its_chance():
    solved = entry_of("tests:Game", Call).exact(entry_of("tests:Game", Call).configure(False, {}))
    texts = {(each.seat, each.texts) for each in solved.information_sets}
    assert texts == {(0, ("heads",)), (0, ("tails",)), (1, ("[heads]",)), (1, ("[tails]",))}
    assert {each.system for each in solved.information_sets} == {"Name the coin.", "Guess it."}
    even = [(0.5, 0.5)] * 4
    honest = [(1.0, 0.0) if each.texts[-1].strip("[]") == "heads" else (0.0, 1.0) for each in solved.information_sets]
    assert solved.nash_conv([even], [1.0]) == pytest.approx(0)
    assert solved.nash_conv([honest], [1.0]) == pytest.approx(2)


def test_a_game_that_is_too_large_says_so():
    with pytest.raises(EnumerationError, match="too large to be solved exactly"):
        text_tree(Call, 4, told=False, limits=Limits(nodes=2))

    class Unseeded(Call):
        def reset(self, seed):
            self.coin, self.mover, self.said = np.random.default_rng().choice(self.tags), 0, ""

    with pytest.raises(EnumerationError, match="without a seed"):
        text_tree(Unseeded, 4, told=False)


# ---------------------------------------------------------------- check-game


def test_games_of_this_kind_are_right():
    assert broken(Call) == []
    assert broken(Hint) == []


def test_a_broken_game_is_named_by_method_and_line():
    class Forgets(Hint):
        def act(self, text):
            return super().act(text) if text else float(text)

    (found,) = broken(Forgets)
    assert found.startswith("an empty reply: ")
    assert "act: ValueError: could not convert string to float" in found
    assert f"{__file__}:" in found


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"reset": lambda self, seed: Hint.reset(self, random.getrandbits(32))}, "the same seed and the same replies"),
        ({"objective": "shared", "act": lambda self, text: (0.0, 1.0)}, "objective is 'shared', but the rewards"),
        ({"act": lambda self, text: (0.0, 0.0)}, "act accepts it, but legal does not list it"),
        ({"best": 0.1}, "best is 0.1, but random games were paid"),
        ({"payoff_range": (0.5, 1)}, r"payoff_range is \(0.5, 1\), but random games"),
        ({"act": lambda self, text: "no"}, "legal lists '.*', which act refuses: no"),
        (
            {"act": lambda self, text: setattr(self, "secret", 1) or "no" if len(text) > 9 else Hint.act(self, text)},
            "act refuses it, but the game goes on differently",
        ),
    ],
)
def test_a_broken_promise_is_named(methods, message):
    found = broken(type("Broken", (Hint,), methods))
    assert any(re.search(message, each) for each in found), found


# ---------------------------------------------------------------- by its name


def test_a_text_game_is_found_by_module_and_name():
    allow(HINT)
    assert find_kind(HINT).training == "dialogue"
    assert text_kind(HINT) is find_kind(HINT)
    assert find_dialogue(HINT).shared_reward
    allow("no_such_module:Hint")
    with pytest.raises(GameError, match="no_such_module"):
        text_kind("no_such_module:Hint")


def test_a_person_plays_in_the_terminal():
    entry, said, answers = entry_of(HINT, Hint), [], iter(["gigantic", "huge", "y", "1", "quit"])
    rules = entry.configure(True, {})
    play_in_terminal(
        entry, rules, "random", lambda seed: entry.players["random"](rules, seed),
        lambda prompt: said.append(prompt) or next(answers), said.append, seed=1, seat=0,
    )  # fmt: skip
    shown = "\n".join(said)
    assert "Your reply (tiny, small, low, high, big, huge): " in said
    assert "Error: write one of tiny, small, low, high, big, huge" in said
    assert "Game 2: you have seat 1, random has seat 0" in shown
    assert "> hint " in shown
    assert said[-1].startswith("Your mean reward: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("repository")
    shutil.copy(word_game.__file__, made / "my_words.py")
    return made


def run(folder, *words, code=0):
    done = finish([*SELFPLAY, *words], cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.full
def test_a_game_of_ones_own_is_checked_trained_resumed_rated_and_shown(folder):
    game, size = ("--game-type", "my_words:Hint"), ("--num-games", "32", "--start-tokens", "3000")
    assert "the contract is kept" in run(folder, "check-game", "my_words:Hint")
    few = ("--evaluation-states", "16", "--checkpoint", "run", "--set", "run.threads=1")
    assert "optimum 1.000" in run(folder, "train", *game, *size, *few, "--games", "64", "--track-elo")
    assert "Iter 3/3" in run(folder, "train", *game, "--resume", "--checkpoint", "run", "--games", "96")
    assert "my_words:Hint is code that a file names" in run(folder, "train", "--resume", "--checkpoint", "run", code=2)
    assert "comparisons played" in run(folder, "rate", "run", "--budget", "4", *game)
    run(folder, "leaderboard", "run", *game, "--html", "page.html")
    assert (folder / "page.html").stat().st_size > 10_000
    assert "equal rewards" in run(folder, "exploit", "run", *game, code=2)


@pytest.mark.full
def test_a_text_game_is_trained_from_python(folder):
    (folder / "script.py").write_text(
        "import selfplay\n"
        "from my_words import Hint\n"
        "if __name__ == '__main__':\n"
        "    small = {'run': {'games': 32, 'num_games': 32, 'evaluation_states': 0}, 'start': {'tokens': 3000}}\n"
        "    found = selfplay.train(small, game=Hint, checkpoint='from_python')\n"
        "    print(found.finished, found.newest.name)\n"
    )
    done = finish([sys.executable, "script.py"], cwd=folder, check=True)
    assert done.stdout.split()[:2] == ["True", "gen_1"]
