import base64
import io

import numpy as np
import pytest
from PIL import Image

from selfplay.checkpoint import RunDir
from selfplay.commands import replay
from selfplay.commands.leaderboard_page import NOT_ALL, replays_of, show_of, write_run
from selfplay.commands.notable_games import UPSET, after_steps, notable, rated
from selfplay.commands.replay import WIDTH, Recorder, StepReplayer
from selfplay.config.ppo import Config
from selfplay.errors import IncompatibleError
from selfplay.games import registry
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import read_games, read_records
from selfplay.league.records import GameRecord, Seat
from tests.games.games import Duel, Nim
from tests.league.test_rewards import scored
from tests.run.policies import save
from tests.run.runs import train

NIM = "tests.games.games:Nim"
SMALL = ("--num-games", 8, "--rollout-length", 16, "--hidden", "16", "--batch-size", "64", "--save-interval", 2)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of Nim whose generations were rated."""
    folder = tmp_path_factory.mktemp("rated") / "run"
    flags = ("--game-type", NIM, "--timesteps", 6 * 8 * 16, "--track-elo", "--rating-share", "1")
    assert train(folder, *flags, size=SMALL)[0] == 0
    return RunDir(folder)


@pytest.fixture
def again(run):
    """What plays the run's games again, and the newest of them."""
    allow(NIM)
    return StepReplayer(run), list(read_records(run.ledger))[-8:]


def test_a_rated_game_is_played_again_step_by_step(again):
    replayer, games = again
    for game in games:
        found = replayer.steps(game)
        first, *moments = found["moments"]
        left = [len(moment["text"]) for moment in (first, *moments)]
        assert "played" not in first
        assert 8 <= left[0] <= 12
        assert left[-1] == 0
        for t, moment in enumerate(moments):
            assert moment["played"] == [[t % 2, str(left[t] - left[t + 1] - 1)]]
        winner = 1 - len(moments) % 2
        assert game.score == 1.0 - winner
        assert found["result"] == f"{game.seats[winner].player} wins"
        assert (len(moments), found["first"]) == (game.steps, 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": 0.5}, "played again it ends [01] to [01], not 0.5 to 0.5"),
        ({"settings": "0123456789ab"}, "under the settings 0123456789ab"),
        ({"sampling": "greedy"}, "greedy"),
    ],
)
def test_what_ends_otherwise_is_not_shown(again, changes, words):
    replayer, games = again
    game = games[0].model_copy(update=changes)
    with pytest.raises(IncompatibleError, match=words):
        replayer.steps(game)


def test_a_page_shows_notable_games_and_says_where_they_are_from(run, tmp_path):
    allow(NIM)
    of = analyse(read_games(run.ledger))
    told = []
    replays, notes = replays_of(run, of, show_of(NIM), told.append)
    assert replays[0].kind == "Strongest pair"
    assert {"Strongest pair", "Fastest win", "Longest game"} <= {replay.kind for replay in replays}
    assert len(told) == len(replays)
    assert notes[0].endswith("and the result agrees with the ledger.")
    by_kind = {replay.kind: len(replay.film["moments"]) for replay in replays}
    assert by_kind["Fastest win"] < by_kind["Longest game"]
    path = tmp_path / "page.html"
    pages = []
    written = write_run(run.path, of, path, lambda _: pages.append(path.read_text()))
    assert written == f"{path} ({path.stat().st_size / 1e6:.1f} MB)"
    assert [sum(replay.why in page for replay in replays) for page in pages] == [*range(len(replays))]
    assert all(NOT_ALL in page for page in pages)
    text = path.read_text()
    assert NOT_ALL not in text
    assert 'id="stepper"' in text
    assert [name for name in ("rollout length", "gamma") if name not in text] == []
    assert [name for name in ("Emulator", "stage", "stock", "frame skip") if f"{name}</" in text] == []


def test_a_page_of_code_that_nobody_named_has_no_games_and_says_why(run, monkeypatch, tmp_path):
    monkeypatch.setattr("selfplay.games.plugins._allowed", set())
    registry._described.cache_clear()
    of, told = analyse(read_games(run.ledger)), []
    replays, notes = replays_of(run, of, show_of(NIM), lambda text: None)
    assert replays == []
    assert f"add --game-type {NIM}" in notes[0]
    write_run(run.path, of, tmp_path / "page.html", told.append)
    assert told == notes


def row(first, second, score, seed, settings="abc", steps=5):
    seats = tuple(Seat(player=name, version="1") for name in (first, second))
    return GameRecord.played(
        game="nim", seats=seats, seed=seed, settings=settings, score=score, steps=steps, sampling="stochastic",
        iteration=1,
    )  # fmt: skip


def test_games_of_tables_are_not_shown(tmp_path):
    made = save(tmp_path / "run", 0)
    made.write_run({"config": Config.model_validate({"game": {"type": "kuhn"}}).model_dump(mode="json")})
    with pytest.raises(IncompatibleError, match="games of kuhn are not shown step by step"):
        StepReplayer(made)


def test_draws_are_no_upsets_and_no_wins():
    games = [row("gen_0", "random", 1.0, seed, steps=9 - seed) for seed in range(6)]
    games += [row("random", "gen_0", 1.0, 6), row("gen_0", "random", 0.5, 7, steps=30)]
    games += [row("gen_0", "random", 1.0, 8, "other"), row("random", "finisher", 1.0, 9)]
    of = analyse(GameTable.of(games), settings="abc")
    chosen = rated(games, of.ratings, of.board.settings, after_steps)
    assert [game.seed for game in chosen] == list(range(8))
    kinds = {kind[0].kind: kind for kind in notable(chosen, of.ratings, after_steps)}
    seeds = {kind: [one.game.seed for one in found] for kind, found in kinds.items()}
    assert seeds[UPSET] == [6]
    assert seeds["Fastest win"][0] == 5
    assert seeds["Longest game"] == [7, 0, 1]
    assert kinds["Longest game"][0].why == "random drew with gen_0 after 30 steps."
    assert kinds["Fastest win"][0].why == "gen_0 beat random after 4 steps."
    assert kinds[UPSET][0].why.startswith("random beat gen_0 after 5 steps; the ratings gave it")


def hand(first, second, payoff, seed, objective="reward"):
    """A rated game that is played for chips."""
    paid = (payoff, payoff if objective == "shared" else -payoff)
    return scored(first, second, paid, seed, objective=objective, unit="chips", steps=5)


def test_the_biggest_upset_of_payoffs_is_the_one_that_pays_most():
    games = [hand("gen_0", "random", 5.0, seed) for seed in range(8)]
    games += [hand("random", "gen_0", 1.0, 8), hand("random", "gen_0", 4.0, 9)]
    of = analyse(GameTable.of(games))
    (_, upset, *_) = notable(rated(games, of.ratings, of.board.settings, after_steps), of.ratings, after_steps)
    assert [one.game.seed for one in upset] == [9, 8]
    assert upset[0].why.startswith("random beat gen_0 after 5 steps, for +4.00; the ratings expected -")
    assert upset[0].why.endswith(" chips a game.")


def test_with_a_shared_reward_no_player_beats_the_other():
    games = [hand("gen_0", "random", 5.0, seed, "shared") for seed in range(4)]
    of = analyse(GameTable.of(games))
    found = notable(rated(games, of.ratings, of.board.settings, after_steps), of.ratings, after_steps)
    assert [kind[0].kind for kind in found] == ["Strongest pair", "Longest game"]
    assert found[0][0].why == "random played with gen_0 after 5 steps."


class Pictured(Duel):
    """Shows noise, in a picture that is too wide."""

    max_steps = 300

    def step(self, actions):
        rewards, _, _ = super().step(actions)
        return rewards, False, False

    def render(self):
        return np.random.default_rng(self.steps).integers(0, 256, (20, 2 * WIDTH, 3), np.uint8)


class Coloured(Nim):
    def render(self):
        return f"\x1b[1;31m{self.left}\x1b[0m"


class Wrong(Nim):
    def render(self):
        return np.zeros((3, 3))


def recorded(game, steps):
    """A recorder after some steps of random players."""
    made = Recorder(game)
    made.bots[:] = 0
    made.reset(np.zeros(1, np.uint64))
    for _ in range(steps):
        made.step(np.zeros((1, 2, made.actions.width), np.int8))
    return made


@pytest.mark.full
def test_of_long_games_the_last_steps_are_kept_in_small_pictures(monkeypatch):
    made = recorded(Pictured(), 210)
    monkeypatch.setattr(replay, "BYTES", 10**9)
    whole = made.recorded(("a", "b"), 0.5)
    assert (whole["first"], len(whole["moments"])) == (0, 211)
    assert whole["result"] == "Draw"
    picture = Image.open(io.BytesIO(base64.b64decode(whole["moments"][-1]["picture"].partition(",")[2])))
    assert picture.size == (WIDTH, 10)
    monkeypatch.setattr(replay, "BYTES", 50_000)
    short = made.recorded(("a", "b"), 1.0)
    assert 1 < len(short["moments"]) < 210
    assert short["moments"][-1] == whole["moments"][-1]
    assert short["first"] == 210 + 1 - len(short["moments"])


def test_without_a_picture_there_are_the_actions_of_both_seats_part_by_part():
    found = recorded(Duel(), 3).recorded(("a", "b"), 1.0)
    first, *moments = found["moments"]
    assert first == {}
    assert len(moments) == 3
    for moment in moments:
        assert [seat for seat, _ in moment["played"]] == [0, 1]
        for _, action in moment["played"]:
            number, side = map(int, action.split(","))
            assert number in range(3)
            assert side in range(2)


def test_text_has_no_colour_codes_and_what_is_no_picture_is_refused():
    first, *_ = recorded(Coloured(), 1).recorded(("a", "b"), 1.0)["moments"]
    assert first["text"].isdigit()
    with pytest.raises(GameError, match=r"render\(\) gave float64 \(3, 3\) \(valid: text, or a picture"):
        recorded(Wrong(), 1)
