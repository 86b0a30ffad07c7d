import base64
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from selfplay.errors import CorruptError, IncompatibleError
from selfplay_melee.commands.cli import watch
from selfplay_melee.drawing.film import film_of
from selfplay_melee.play.games import HELD, MAX_BYTES, PlayedGame, replay
from selfplay_melee.replay import read_replay
from selfplay_melee.replays.library import Library
from selfplay_melee.tables import CHARACTERS
from tests.hostile.corpus import CONTENTS
from tests.melee.commands.page_games import page_game

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def document():
    return page_game()


def parse(document):
    return PlayedGame.parse(json.dumps(document).encode())


def held(*rows):
    return base64.b64encode(np.array([(*row, [0] * 14) for row in rows], HELD).tobytes()).decode()


def with_part(document, path, value):
    changed = json.loads(json.dumps(document))
    *owners, last = path
    place = changed
    for key in owners:
        place = place[key]
    place[last] = value
    return changed


def test_a_game_is_played_again(document):
    same = replay(parse(document))
    assert len(same.film) == 151
    assert (same.film.names, same.film.people) == (("Ada", "rusher"), (True, False))
    assert same.stats["frames"].tolist() == [150, 150]
    assert same.stats["stocks"].tolist() == document["result"]["stocks"]
    assert same.score == tuple(float(seat == document["result"]["winner"]) for seat in (0, 1))


def test_a_game_that_was_stopped_has_no_counts():
    same = replay(parse(page_game(frames=100)))
    assert (len(same.film), same.stats, same.score) == (101, None, None)


def with_other_action(document):
    presses = np.frombuffer(base64.b64decode(document["held"]), HELD).copy()
    presses["action"][9, 1] = 1  # B, on frame 90
    return document | {"held": base64.b64encode(presses.tobytes()).decode()}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (with_other_action, r"it differs from second 2 on \(the document was changed\)"),
        (
            lambda d: with_other_action(d) | {"rules": "older"},
            r"it differs from second 2 on \(its rules are version older, these are [0-9a-f]{16}\)",
        ),
        (lambda d: with_part(d, ["checksums", 2], 1), "it differs from second 3 on"),
        (lambda d: d | {"seed": "8"}, "it differs from second 1 on"),
        (lambda d: d | {"frames": 170}, "it ends in second 3, before its last frame"),
        (
            lambda d: with_part(d, ["result"], {"stocks": [4, 0], "percents": [0, 0], "winner": 0, "ended": "stocks"}),
            "it comes out as 3-4 with .*, ended by cap, not as 4-0 with 0.0% and 0.0%, seat 0 as winner, ended by sto",
        ),
        (lambda d: with_part(d, ["result", "ended"], None), "ended by cap, not as .* ended by being stopped"),
    ],
)
def test_a_game_that_comes_out_otherwise_is_refused(document, change, problem):
    with pytest.raises(IncompatibleError, match=f"the game, played again, is another game: .*{problem}"):
        replay(parse(change(document)))


def test_the_game_of_the_readme_is_played_again():
    game = PlayedGame.read(ROOT / "docs" / "data" / "play.json")
    assert replay(game).film.names == ("you", "regular")


def test_other_rules_that_play_it_alike_are_no_obstacle(document):
    assert replay(parse(document | {"rules": "older"})).score is not None


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["game"], "dialogue", "game: Input should be 'mock'"),
        (["characters", 0], 99, "characters.0: .*99 is none of"),
        (["stage"], 0, "stage: .*0 is none of"),
        (["seats", 1], {"kind": "bot", "name": "__import__"}, "seats.1.bot.name: .*'__import__' is none of idle"),
        (["seats", 1], {"kind": "server"}, "seats.1: Input tag 'server'"),
        (["names", 0], "a\x1b[2J", "names.0: .*letters that cannot be shown"),
        (["names", 0], "x" * 65, "names.0: String should have at most 64"),
        (["frames"], 10**9, "frames: Input should be less than or equal to 28800"),
        (["frames"], 120, "3 checksums do not belong to 120 frames"),
        (["seed"], "-1", "seed: String should match"),
        (["options", "bot_skip"], 0, "options.bot_skip: Input should be greater"),
        (["options", "frame_skip"], 4, "options.frame_skip: Input should be 1"),
        (["options", "cap"], 10**400, "options.cap: "),
        (["options", "reward_stock"], 0, "options.reward_stock: Extra inputs are not permitted"),
        (["delay", 0], 61, "delay.0: Input should be less"),
        (["more"], 1, "more: Extra inputs are not permitted"),
        (["held"], "!", "held is no base64"),
        (["held"], "AAAA", "held has 3 bytes, which is no multiple of 17"),
        (["held"], held((9, 0), (8, 0)), "held is not in the order"),
        (["held"], held((8, 0), (8, 0)), "held is not in the order"),
        (["held"], held((150, 0)), "held .* goes on behind the last frame"),
        (["held"], held((0, 2)), "held is not in the order"),
        (["held"], held((0, 1)), "held has an action of a scripted player"),
        (["held"], base64.b64encode(b"\0\0\0\2" + bytes(13)).decode(), "held has an action that no controller"),
        (["held"], "A" * 10 * 2**20, f"bytes, a game has at most {MAX_BYTES}"),
    ],
)
def test_no_document_of_a_game(document, path, value, problem):
    with pytest.raises(CorruptError, match=problem):
        parse(with_part(document, path, value))


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_of_all_kinds_are_refused(name):
    with pytest.raises(CorruptError):
        PlayedGame.parse(CONTENTS[name])


def test_newer_documents_ask_for_an_update(document):
    with pytest.raises(IncompatibleError, match="written by a newer selfplay"):
        parse(document | {"format": 2})


def run_watch(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["watch", *map(str, words)])
    return watch.main()


def test_a_game_is_watched_and_becomes_a_replay_that_is_found_by_name(tmp_path, monkeypatch, capsys):
    path, games = tmp_path / "game.json", tmp_path / "games"
    games.mkdir()
    path.write_text(json.dumps(page_game(name="Ada Ω")))
    assert run_watch(monkeypatch, path, "--out", games / "game.slp") == 0
    assert "2.5 s of game" in capsys.readouterr().out
    made = read_replay(games / "game.slp")
    assert [(seat.human, seat.character) for seat in made.seats] == [
        (True, CHARACTERS["fox"]),
        (False, CHARACTERS["marth"]),
    ]
    assert film_of(made).people == (True, False)
    library = Library(games, 4, 0, tmp_path / "cache", player="ada Ω")
    library.scan()
    assert len(library.games) == 1
    assert run_watch(monkeypatch, path, "--out", tmp_path / "game.html", "--seconds", "1") == 0
    assert "(0.1 MB, 1.0 s of game)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["game.json"], "cannot read game.json"),
        (["game.json", "gen_1"], "who plays in it cannot be chosen"),
        (["broken.json"], "broken.json is not a JSON document"),
    ],
)
def test_what_cannot_be_watched(tmp_path, monkeypatch, capsys, words, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    assert run_watch(monkeypatch, *words) == 2
    assert problem in capsys.readouterr().err
