"""Written games, and what is refused of them."""

import json

import pytest

from selfplay.dialogue.files.games import GAMES, read_games, write_games
from selfplay.dialogue.files.settings import SETTINGS, announce, read_settings, write_settings
from selfplay.errors import ConfigError, CorruptError
from tests.dialogue.chats import byte_chat
from tests.dialogue.files.written import lines
from tests.dialogue.writers import Said, in_turn, played, settings_of


def test_what_is_written_is_read(tmp_path):
    games = lines()
    write_games(tmp_path / GAMES, games)
    found, digest = read_games(tmp_path / GAMES)
    assert found == games
    assert len(digest) == 64
    for before, after in zip(games, found, strict=True):
        for one, other in zip(before.instances(), after.instances(), strict=True):
            assert one.logprob.tobytes() == other.logprob.tobytes()


def test_a_line_tells_the_game_by_itself(tmp_path):
    secret = "BLEU is mine [message] I know of GLUE\u2028"
    game = played(in_turn(Said(secret), Said("[message] x"), Said("")), byte_chat(), told="full")
    write_games(tmp_path / GAMES, [game])
    assert (tmp_path / GAMES).read_bytes().count(b"\n") == 1
    document = json.loads((tmp_path / GAMES).read_bytes())
    assert document["schema_version"] == 1
    assert document["turns"][0] == {
        "seat": 0, "text": secret, "private": "BLEU is mine", "kind": "message", "error": None
    }  # fmt: skip
    assert document["turns"][2]["error"].startswith("Begin what you say")
    assert {"table", "mask1", "mask2", "scale1", "action_log", "proposal_reward"} <= set(document["game_state"])
    first, second = game.messages(0), game.messages(1)
    assert [message["role"] for message in first] == ["system", "user", "assistant", "user", "assistant"]
    assert "BLEU is mine" in first[2]["content"]
    assert "BLEU is mine" not in json.dumps(second)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda game: game.update(extra=1), "extra: "),
        (lambda game: game.pop("turns"), "turns: "),
        (lambda game: game.update(schema_version=2), "schema_version: "),
        (lambda game: game["tokens"][0]["ids"].append(3), "ids, but"),
        (lambda game: game["tokens"][0]["logprob"].pop(), "have a log-probability"),
        (lambda game: game["tokens"][0]["logprob"].__setitem__(0, 1.0), "above 0"),
        (lambda game: game["tokens"][0]["sampled"].__setitem__(0, 1), "sampled"),
        (lambda game: game["tokens"][0]["ids"].__setitem__(0, -1), "tokens.0.ids.0: "),
        (lambda game: game["tokens"][1].update(seat=0), "twice"),
        (lambda game: game["turns"].pop(), "was told"),
        (lambda game: game["outcome"].update(rewards=[1.0]), "outcome.rewards"),
        (lambda game: game.update(index=-1), "index: "),
    ],
)
def test_hostile_lines_are_named(tmp_path, change, reason):
    write_games(tmp_path / GAMES, lines(1, 3))
    documents = [json.loads(line) for line in (tmp_path / GAMES).read_text().splitlines()]
    change(documents[1])
    (tmp_path / GAMES).write_text("".join(json.dumps(document) + "\n" for document in documents))
    with pytest.raises(CorruptError) as caught:
        read_games(tmp_path / GAMES)
    assert f"{GAMES}:2: " in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", '{"a": 1, "a": 2}', "[]", "\x80", "\n\n"])
def test_lines_that_are_no_object(tmp_path, text):
    (tmp_path / GAMES).write_bytes(text.encode("latin-1"))
    with pytest.raises(CorruptError, match=r"selfplay_games\.jsonl:1"):
        read_games(tmp_path / GAMES)


def test_a_game_that_is_there_twice_and_a_file_of_none(tmp_path):
    (game,) = lines(1, 1)
    write_games(tmp_path / GAMES, [game, game])
    with pytest.raises(CorruptError, match=r":2: game 0-0 is on line 1 already"):
        read_games(tmp_path / GAMES)
    write_games(tmp_path / GAMES, [])
    with pytest.raises(CorruptError, match="no game is in it"):
        read_games(tmp_path / GAMES)


def test_settings_come_back(tmp_path):
    settings = settings_of("kuhn_text", exp_name="mine", temperature=0.5)
    write_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    (tmp_path / SETTINGS).write_text("{}")
    with pytest.raises(CorruptError, match=r"settings\.json: "):
        read_settings(tmp_path)


def test_the_embedded_game_keeps_its_turns_and_others_take_the_given():
    assert settings_of(max_length=100).rules["max_turns"] == 8
    assert "Games end after 8 turns" in announce(settings_of(max_length=100), 100)
    assert settings_of(max_length=5).rules["max_turns"] == 5
    assert "turns" not in announce(settings_of(max_length=5), 5)
    assert settings_of(model="some/model", max_length=100).rules["max_turns"] == 100
    assert settings_of(model="some/model").rules["size"] == 8
    assert settings_of().config.game.size == 4
    assert settings_of(max_length=5).config == settings_of().config  # the model is the same


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"temperature": "abc"}, "--temperature abc: "),
        ({"temperature": 0}, "--temperature 0: "),
        ({"games": 0}, "--num-games 0: "),
        ({"game": "chess"}, "--game chess: "),
        ({"game_size": 9}, "matching: size is 9 (valid: 2 to 8)"),
        ({"game": "kuhn_text", "game_size": 2}, "unknown setting of kuhn_text 'size'"),
        ({"exp_name": "a/b"}, "--exp-name a/b: "),
        ({"max_length": 1}, "--max-length 1: "),
        ({"start_tokens": "x"}, "--start-tokens x: "),
        ({"games_per_state": 1}, "--games-per-state 1: one game's pair has one reward"),
    ],
)
def test_impossible_values_name_the_flag(values, words):
    with pytest.raises(ConfigError) as caught:
        settings_of(**values)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_games_alone_on_their_states_need_a_baseline():
    assert settings_of(games_per_state=1, baseline="role-ema").games_per_state == 1
