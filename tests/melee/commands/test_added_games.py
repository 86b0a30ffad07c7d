"""Games of people: kept with the run, rated where they can be, and learned from."""

import json
import re
import sys
from dataclasses import replace

import pytest

from selfplay.checkpoint.generations import read_policy_meta
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.commands.cli import leaderboard
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError, CorruptError, IncompatibleError, LeagueError
from selfplay.evaluation.players import contender, home_rules
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.people_ledger import record_game, run_games
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, play
from selfplay_melee.bot_names import VERSION
from selfplay_melee.commands.watch import recorded
from selfplay_melee.play import added_games
from selfplay_melee.play.added_games import add_game
from selfplay_melee.replays.library import Library
from tests.imitation.replays import trained
from tests.league.pools import record, seat
from tests.melee.commands.page_games import page_game
from tests.run.policies import save

GAME = {"character": "fox", "opponent_character": "marth", "stage": "battlefield", "max_episode_frames": 150}


def encoded(**changes):
    return json.dumps(page_game(**changes)).encode()


@pytest.fixture
def run(tmp_path):
    """A run whose generation lost to a scripted player and won against another."""
    made = save(tmp_path / "run", 0, 10)
    made.write_run({"config": Config.model_validate({"game": GAME}).model_dump(mode="json")})
    settings = added_games.settings_of(added_games.config_of(made)).settings
    with Ledger.open(made.ledger) as ledger:
        mine = seat("gen_10", version=version_of(made))
        fights = [("rusher", (0, 2)), ("walker", (2, 0)), ("walker", (0, 2))]
        met = [(seat(name, version=f"bots-{VERSION}"), won) for name, won in fights]
        ledger.append([record(mine, bot, won, seed=i, settings=settings) for i, (bot, won) in enumerate(met)])
    return made


def version_of(run, generation="gen_10"):
    return read_policy_meta(run.generations / generation).weights_hash


def policy(run, **changes):
    about = {"kind": "policy", "id": "gen_10", "weights_hash": version_of(run), "frame_skip": 4, "temperature": 1.0}
    return about | changes


def kept(run):
    return sorted(path.name for path in run.people_games.glob("*")) if run.people_games.exists() else []


def test_a_game_is_kept_and_rated_while_a_trainer_runs(run):
    document = encoded(name="Anna")
    before = run.ledger.read_bytes()
    with run.lock(), Ledger.open(run.ledger):
        added = add_game(run, document)
    assert run.ledger.read_bytes() == before
    assert (added.person, added.opponent, added.is_new, added.why_not_rated) == ("anna", "rusher", True, None)
    assert kept(run) == [added.json.name, added.slp.name]
    assert added.json.read_bytes() == document
    (row,) = read_records(run.people)
    assert [one.player for one in row.seats] == ["person-anna", "rusher"]
    assert [one.version for one in row.seats] == ["person", f"bots-{VERSION}"]
    assert (row.steps, row.facts["finished"], row.facts["stage"], row.seed) == (150, False, "battlefield", 7)
    assert {one.settings for one in (row, next(iter(read_records(run.ledger))))} == {row.settings}
    assert str(added).startswith(f"{added.result}; anna is rated ")
    assert ", 95% interval " in added.rating
    assert added.rating.endswith(", 1 game")
    with run.lock():  # the run can be resumed
        pass


def test_the_same_game_counts_once_and_another_on_its_seed_counts_too(run):
    first = add_game(run, encoded(name="Anna"))
    again = add_game(run, json.dumps(page_game(name="anna "), indent=1).encode())
    assert (again.is_new, again.json, first.is_new) == (False, first.json, True)
    assert "which had been added before; anna is rated" in str(again)
    other = add_game(run, encoded(name="Anna", delay=(3, 0)))
    assert other.is_new
    assert other.rating.endswith(", 2 games")
    assert len(kept(run)) == 4


def test_a_game_against_a_generation_is_rated_without_moving_it(run):
    def elo():
        board = added_games.analyse(run_games(run.path), run=run.path).board
        return {row.policy: row.rating for row in board.rows}

    before = elo()
    added = add_game(run, encoded(name="Anna", policy=policy(run)))
    assert added.why_not_rated is None
    assert added.result == "anna lost to gen_10 3-4"  # she walks off the stage
    after = elo()
    assert after.pop("person-anna") > 0
    assert after == before
    (row,) = read_records(run.people)
    assert row.seats[1].version == version_of(run)
    assert row.iteration == 10


@pytest.mark.parametrize(
    ("changes", "seated", "why"),
    [
        ({"frames": 100}, {}, "it was stopped before its end"),
        ({"cap": 160}, {}, "at most 150 frames, this one had 160"),
        ({"stage": "yoshis_story"}, {}, "rated on battlefield, this was on yoshis_story"),
        ({"characters": ("fox", "fox")}, {}, "with fox against marth, this was fox against fox"),
        ({"ledge_grab_limit": 0}, {}, "limit of ledge grabs is 60, here it was 0"),
        ({"bot": "idle"}, None, "idle has no rating"),
        ({"bot_skip": 1}, None, "decision every 4 frames and no delay"),
        ({"delay": (0, 5)}, None, "it was every 4 and a delay of 5"),
        ({"delay": (0, 5)}, {}, "has a delay of 0 frames, here it had 5"),
        ({}, {"temperature": 0.5}, "rated at temperature 1, here it had 0.5"),
        ({}, {"frame_skip": 2}, "decides every 4 frames, which it did not"),
        ({}, {"weights_hash": "0" * 64}, "has other weights in the run"),
        ({}, {"weights_hash": None}, "has other weights in the run"),
        ({}, {"id": "gen_99"}, "gen_99 is no generation of the run"),
        ({}, {"id": "../gen_10"}, "../gen_10 is no generation of the run"),
        ({}, {"id": "strong"}, "strong is no generation of the run"),
    ],
)
def test_a_game_under_other_conditions_is_kept_and_not_rated(run, changes, seated, why):
    seated = {} if seated is None else {"policy": policy(run, **seated)}
    added = add_game(run, encoded(name="Anna", **changes, **seated))
    assert why in added.why_not_rated
    assert str(added) == f"{added.result}. Not rated: {added.why_not_rated}"
    assert len(kept(run)) == 2
    assert added.json.parent == run.people_games
    assert not run.people.exists()


def test_the_characters_may_be_the_other_way_round(run):
    assert add_game(run, encoded(characters=("marth", "fox"))).why_not_rated is None


def test_without_a_run_a_game_is_kept_beside_the_runs_and_not_rated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    added = add_game(None, encoded())
    assert added.json.parent == CHECKPOINTS / "people" / "games"
    assert added.slp.exists()
    assert "not of a run" in added.why_not_rated
    assert not add_game(None, encoded()).is_new


def test_a_run_without_rated_games_rates_its_people(run):
    run.ledger.unlink()
    added = add_game(run, encoded(name="Anna"))
    assert added.rating.startswith("anna is rated ")


def test_a_run_of_another_version_or_game_keeps_the_game(run):
    run.write_run({"config": {"game": {"unknown": 1}}})
    added = add_game(run, encoded())
    assert "cannot be compared with the run's rating games" in added.why_not_rated
    assert len(kept(run)) == 2


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (b"", CorruptError),
        (b"[]", CorruptError),
        (lambda: json.dumps(page_game() | {"checksums": [1, 2, 3]}).encode(), IncompatibleError),
        (lambda: json.dumps(page_game() | {"names": ["アンナ", "b"]}).encode(), LeagueError),
        (lambda: json.dumps(page_game() | {"names": ["\x1b[2J", "b"]}).encode(), CorruptError),
        (lambda: json.dumps(page_game() | {"seats": [{"kind": "person"}] * 2}).encode(), ConfigError),
        (lambda: json.dumps(page_game() | {"seats": [{"kind": "bot", "name": "rusher"}] * 2, "held": ""}).encode(),
         ConfigError),
    ],
)  # fmt: skip
def test_what_is_no_game_of_a_person_leaves_nothing(run, document, error):
    with pytest.raises(error) as caught:
        add_game(run, document() if callable(document) else document)
    assert str(caught.value).isprintable()
    assert kept(run) == []
    assert not run.people.exists()


def test_names_of_others_are_no_paths(run):
    added = add_game(run, encoded(name="../../<b>Anna</b>", policy=policy(run, id="../../x;$(rm)*")))
    assert added.person == "b-anna-b"
    assert [path.parent for path in (added.json, added.slp)] == [run.people_games] * 2
    assert [re.fullmatch(r"[a-z0-9-]+\.(json|slp)", name) is None for name in kept(run)] == [False, False]


@pytest.mark.parametrize("place", ["people", "people/games"])
def test_links_are_refused(run, tmp_path, place):
    (tmp_path / "elsewhere").mkdir()
    (run.path / place).parent.mkdir(exist_ok=True)
    (run.path / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link"):
        add_game(run, encoded())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_game_that_found_the_ledger_busy_is_rated_when_it_is_added_again(run, monkeypatch):
    monkeypatch.setattr(added_games, "record_game", lambda path, game: record_game(path, game, wait_s=0.05))
    with Ledger.open(run.people), pytest.raises(LeagueError, match="is being written"):
        add_game(run, encoded())
    assert len(kept(run)) == 2
    added = add_game(run, encoded())
    assert (added.is_new, added.why_not_rated) == (True, None)
    assert len(read_games(run.people)) == 1


def test_the_leaderboard_command_shows_people_in_every_form(run, monkeypatch, capsys, tmp_path):
    add_game(run, encoded(name="Anna"))

    def shown(*words):
        monkeypatch.setattr(sys, "argv", ["selfplay leaderboard", str(run.path), *words])
        assert leaderboard.main() == 0
        return capsys.readouterr().out

    assert "anna (person)" in shown()
    rows = {row["policy"]: row for row in json.loads(shown("--json"))["rows"]}
    assert rows["person-anna"]["person"]
    assert "person-anna" in shown("--csv")
    shown("--html", str(tmp_path / "page.html"))
    assert "anna <small>person</small>" in (tmp_path / "page.html").read_text()


def test_a_policy_learns_from_the_games_of_a_person(run, tmp_path):
    """What ``imitate --replays RUN/people/games --player anna`` leaves can be watched and evaluated."""
    for number in range(2):
        add_game(run, encoded(name="Anna K.", cap=400, frames=400, seed=number))
    library = Library(run.people_games, 4, 0, None, player="anna-k")
    games = library.scan()
    assert not library.bad
    assert [[one.name for one in game.seats] for game in games] == [["anna-k"]] * 2
    folder = tmp_path / "learned"
    code, text = trained(folder, "--replays", run.people_games, "--player", "anna-k", "--epochs", 1)
    assert code == 0, text
    me = contender(str(folder / "imitation_best_policy"))
    rules = home_rules([me])
    matchup = Matchup((me.id, "random"), rules.conditions.characters, seed=1)
    players = {me.id: me, "random": Contender("random")}
    rules = replace(rules, conditions=replace(rules.conditions, max_episode_frames=60))
    assert play([matchup], players, rules)[0].stats[0]["frames"] == 60
    film, _ = recorded(matchup, players, rules, "learned", ("anna", "random"))
    assert len(film) == 60


def test_a_person_without_a_name_has_that_of_the_login_in_ratings_alone(run):
    document = encoded(name="You")
    added = add_game(run, document, "Zoë K.")
    assert added.person == "zoe-k"
    assert "'Zoë K.' is zoe-k in ratings" in str(added)
    assert added.json.read_bytes() == document
    assert add_game(run, encoded(name="Anna", seed=8), "zoe").person == "anna"
