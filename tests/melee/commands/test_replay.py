import numpy as np
import pytest

from selfplay.commands.leaderboard_page import replays_of, show_of, write_run
from selfplay.commands.notable_games import DEPTH, KINDS, UPSET, Notable, notable, rated
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.evaluation.players import contender
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.schedule import Matchup
from selfplay.ppo.rating import config_of, play_matchups, settings_of
from selfplay_melee.commands.cli.watch import rated_game
from selfplay_melee.commands.replay import LONGEST_S, FilmReplayer, ended
from tests.league.pools import record
from tests.melee.drawing.fights import film
from tests.run.policies import save

CONFIG = Config.model_validate({"game": {"character": "fox", "stage": "battlefield", "max_episode_frames": 900}})
PLAYERS = ("gen_0", "gen_10", "random", "rusher")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose two generations, untrained, met the scripted players: its games are played in one block."""
    made = save(tmp_path_factory.mktemp("rated") / "run", 0, 10)
    made.write_run({"config": CONFIG.model_dump(mode="json")})
    pairs = [(a, b) for i, a in enumerate(PLAYERS) for b in PLAYERS[:i]]
    fixtures = [Matchup((a, b), seed=seed) for seed, (a, b) in enumerate(pairs * 2)]
    contenders = {name: contender(name, made) for name in PLAYERS}
    with Ledger.open(made.ledger) as ledger:
        ledger.append(play_matchups(fixtures, contenders, settings_of(config_of(made)), 3))
    return made


def test_a_rated_game_plays_again_by_itself_as_its_row_says(run):
    replayer = FilmReplayer(run)
    for game in list(read_records(run.ledger))[::5]:
        again = replayer.film(game)
        assert len(again) == game.steps
        assert again.names == tuple(seat.player for seat in game.seats)
        assert again.title == f"rated game {game.match}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 5}, ["not", "after 5:", "earlier version"]),
        ({"stocks": [9, 9]}, ["not 9-9"]),
        ({"settings": "0123456789ab"}, ["under the settings 0123456789ab", "other rules"]),
        ({"sampling": "greedy"}, ["greedy"]),
    ],
)
def test_what_cannot_be_played_again_says_why(run, changes, words):
    game = next(iter(read_records(run.ledger)))
    if "stocks" in changes:
        changes = {"facts": {**game.facts, **changes}}
    game = game.model_copy(update=changes)
    with pytest.raises(IncompatibleError) as caught:
        FilmReplayer(run).film(game)
    assert [word for word in words if word not in str(caught.value)] == []


def test_players_that_are_gone_or_others_by_now_are_named(run):
    game = next(iter(read_records(run.ledger)))
    first, second = game.seats
    replayer = FilmReplayer(run)
    for seat, words in (
        (first.model_copy(update={"version": "f" * 64}), "were replaced"),
        (gone(first), "gen_77 cannot"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            replayer.film(game.model_copy(update={"seats": (seat, second)}))


def gone(seat):
    return seat.model_copy(update={"player": "gen_77"})


def test_a_game_is_found_by_the_start_of_its_id(run):
    game = next(iter(read_records(run.ledger)))
    assert rated_game(run, game.match) == rated_game(run, game.match[:20]) == game
    with pytest.raises(ConfigError, match="is the start of 2 games"):
        rated_game(run, game.match[:16])  # both seatings
    for name in ("", "zzz"):
        with pytest.raises(ConfigError, match="has no game"):
            rated_game(run, name)


def test_notable_games_are_finished_ones_of_generations():
    games = [
        record("gen_0", "random", (1, 0), seed=1, steps=2000),
        record("random", "gen_0", (0, 3), seed=2, steps=1000),
        record("random", "gen_0", (2, 0), seed=3, steps=3000),
        record("gen_0", "random", (2, 1), seed=4, steps=10, finished=False),
        record("gen_0", "random", (0, 0), seed=7, steps=30),
        record("rusher", "random", (4, 0), seed=5, steps=20),
        record("gen_0", "random", (4, 0), seed=6, steps=5, settings="other"),
    ]
    of = analyse(GameTable.of(games), settings="abc")
    chosen = rated(games, of.ratings, of.board.settings, ended)
    assert [game.seed for game in chosen] == [1, 2, 3]
    kinds = {kind[0].kind: [one.game.seed for one in kind] for kind in notable(chosen, of.ratings, ended)}
    assert kinds["Fastest win"] == [2, 1, 3]
    assert kinds["Longest game"] == [3, 1, 2]
    assert kinds[UPSET] == [3]
    assert set(kinds) == set(KINDS)
    assert all(len(kind) <= DEPTH for kind in kinds.values())
    (upset,) = next(kind for kind in notable(chosen, of.ratings, ended) if kind[0].kind == UPSET)
    assert upset.why.startswith("random beat gen_0 with 2 stocks left after 0:50.0; the ratings gave it")


def test_a_page_shows_games_that_agree_and_says_which_do_not(run, tmp_path):
    of = analyse(read_games(run.ledger))
    told = []
    replays, notes = replays_of(run, of, show_of("mock"), told.append)
    assert len(replays) == len({replay.command for replay in replays})
    assert len(told) == len(replays)
    for replay in replays:
        game = rated_game(run, replay.command.rpartition(" ")[2])
        assert len(replay.film["losses"]) >= abs(np.diff(game.facts["stocks"]))
    assert (not replays) or "agree with the ledger" in notes[0]
    path = tmp_path / "page.html"
    assert write_run(run.path, of, path, told.append) == f"{path} ({path.stat().st_size / 1e6:.1f} MB)"
    text = path.read_text()
    assert "rollout length</" in text
    assert [name for name in ("Emulator", "frame timeout", "iso") if f"{name}</" in text] == []


def test_a_page_of_games_that_nobody_can_play_again_says_so(tmp_path):
    made = save(tmp_path / "run", 0)
    with Ledger.open(made.ledger) as ledger:
        ledger.append([record("gen_0", "random", (1, 0), seed=seed, steps=1000 + seed) for seed in range(9)])
    replays, notes = replays_of(made, analyse(read_games(made.ledger)), show_of("mock"), lambda text: None)
    assert replays == []
    assert "No rated game can be played again" in notes[0]  # its settings are unknown
    made.write_run({"config": CONFIG.model_dump(mode="json")})
    replays, notes = replays_of(made, analyse(read_games(made.ledger)), show_of("mock"), lambda text: None)
    assert replays == []
    assert "4 of the games tried cannot be shown" in notes[-1]
    assert "under the settings abc" in notes[-1]


def test_values_are_numbers(run):
    again = FilmReplayer(run).film(next(game for game in read_records(run.ledger) if game.seats[0].player == "gen_0"))
    assert np.isfinite(again.values[:, 0]).all()


@pytest.mark.full
def test_of_a_long_game_the_end_is_shown_and_the_page_says_what_is_cut(run, monkeypatch):
    long = film(int(60 * LONGEST_S) + 600)
    monkeypatch.setattr(FilmReplayer, "film", lambda *_: long)
    again = show_of("mock").replayer(run)
    shown = again(Notable("Longest game", "It lasted.", next(iter(read_records(run.ledger)))))
    assert shown.why == "It lasted. The first 10 seconds are left out here."
    assert shown.film["losses"] == []
