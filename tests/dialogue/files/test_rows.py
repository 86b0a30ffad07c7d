"""Tables of games: what is in them, how they are split, and what is refused when they are read."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from selfplay.dialogue.files import rows
from selfplay.dialogue.files.games import GAMES, read_games
from selfplay.dialogue.files.parquet import from_parquet, to_parquet
from selfplay.dialogue.files.rows import COLUMNS, SOURCE, STATES, TRAIN, VAL, convert
from selfplay.dialogue.files.table import check_tables, read_table
from selfplay.dialogue.instances import columns_of
from selfplay.errors import ConfigError, CorruptError
from tests.dialogue.files.written import lines, written


@pytest.fixture
def folder(tmp_path):
    written(tmp_path)
    convert(tmp_path, states=True, resume=False, notice=lambda line: None)
    return tmp_path


def table(path):
    return from_parquet(path, list(COLUMNS))


def test_two_rows_a_game_split_by_state(folder):
    games, digest = read_games(folder / GAMES)
    (train, about), (val, other) = table(folder / TRAIN), table(folder / VAL)
    assert about[SOURCE] == other[SOURCE] == digest
    assert {row["extra_info"]["index"] for row in val} == {0}
    assert {row["extra_info"]["index"] for row in train} == {1, 2}
    assert len(train) + len(val) == 2 * len(games)
    by_game = {game.game_id: game for game in games}
    for split, part in (("train", train), ("val", val)):
        for row in part:
            extra, reward = row["extra_info"], row["reward_model"]
            game, seat = by_game[extra["game_id"]], extra["player_index"]
            assert extra["split"] == split
            assert extra["perspective"] == f"player-{seat + 1}"
            assert (extra["index"], extra["replica"], extra["exp_name"]) == (game.index, game.replica, "test")
            assert reward["normalized_reward"] == float(reward["ground_truth"]) == game.outcome.rewards[seat]
            assert reward["style"] == "rule"
            assert json.loads(reward["game_state"]) == game.game_state
            assert row["data_source"] == "kuhn_text_game_selfplay"
            assert row["messages"] == game.messages(seat)
            assert row["prompt"] == row["messages"][: len(row["prompt"])]
            assert row["messages"][len(row["prompt"])]["role"] == "assistant"
            columns = columns_of(next(i for i in game.instances() if i.seat == seat))
            assert {name: row[name] for name in columns.__slots__} == {
                name: getattr(columns, name).tolist() for name in columns.__slots__
            }


def test_what_training_reads_is_what_was_played(folder):
    games, _ = read_games(folder / GAMES)
    found = [i for name in (VAL, TRAIN) for i in read_table(folder / name).instances]
    wanted = [instance for game in games for instance in game.instances()]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.index, one.game_id, one.seat, one.reward) == (other.index, other.game_id, other.seat, other.reward)
        assert columns_of(one).differences(columns_of(other)) == []
    assert read_table(folder / VAL).turns == sum(len(game.turns) for game in games if game.index == 0)


def test_one_row_a_state_for_those_who_play_themselves(folder):
    found, _ = from_parquet(folder / STATES, ["prompt", "game_state", "index", "player_index", "game_id"])
    assert [row["index"] for row in found] == [0, 1, 2]
    games = {game.index: game for game in read_games(folder / GAMES)[0]}
    for row in found:
        assert json.loads(row["game_state"]) == games[row["index"]].game_state | {"action_log": []}
        assert row["prompt"] == games[row["index"]].messages(0)[:1]
    assert [row["game_id"].partition("-")[0] for row in found] == ["val", "train", "train"]


def test_resume_keeps_tables_of_the_same_games_alone(folder):
    before = (folder / TRAIN).stat().st_mtime_ns
    told = []
    convert(folder, states=False, resume=True, notice=told.append)
    assert told == [f"{folder}: its tables exist"]
    assert (folder / TRAIN).stat().st_mtime_ns == before
    (folder / VAL).write_bytes(b"half")
    convert(folder, states=False, resume=True, notice=told.append)
    assert read_table(folder / VAL).instances
    written(folder, lines(2, 4))
    convert(folder, states=False, resume=True, notice=told.append)
    assert read_table(folder / TRAIN).states == {1}


def test_without_games_the_script_that_plays_them_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"run_selfplay_generation\.sh"):
        convert(tmp_path, states=False, resume=False, notice=print)


def test_a_damaged_state_is_refused(tmp_path):
    (game, *rest) = lines()
    written(tmp_path, [game.model_copy(update={"game_state": {"cards": ["ace", "king"]}}), *rest])
    with pytest.raises(CorruptError, match="game 0-0: kuhn_text: cards"):
        convert(tmp_path, states=True, resume=False, notice=lambda line: None)


def changed(path, change, number=1):
    found, about = table(path)
    change(found[number])
    path.write_bytes(to_parquet(found, COLUMNS, about))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row["loss_mask"].__setitem__(0, 1), "not the first"),
        (lambda row: row.update(loss_mask=[0] * len(row["loss_mask"])), "must mark a token"),
        (lambda row: row["loss_mask"].__setitem__(1, 2), "loss_mask.1"),
        (lambda row: row["reward_mask"].__setitem__(0, 1), "reward_mask does not follow"),
        (lambda row: row["position_ids"].__setitem__(1, 7), "position_ids does not follow"),
        (lambda row: row["attention_mask"].__setitem__(1, 0), "attention_mask does not follow"),
        (lambda row: row["old_log_probs"].__setitem__(0, -1.0), "old_log_probs does not follow"),
        (lambda row: row["old_log_probs"].__setitem__(-1, 1.0), "no log-probability"),
        (lambda row: row["old_log_probs"].__setitem__(-1, float("nan")), "old_log_probs"),
        (lambda row: row["input_ids"].append(3), "have different lengths"),
        (lambda row: row["input_ids"].__setitem__(0, -3), "input_ids.0"),
        (lambda row: row["extra_info"].update(player_index=2), "extra_info.player_index"),
        (lambda row: row["extra_info"].update(index=-1), "extra_info.index"),
        (lambda row: row.update(extra_info=None), "extra_info"),
        (lambda row: row["reward_model"].update(normalized_reward=float("inf")), "normalized_reward"),
    ],
)
def test_rows_that_contradict_themselves_are_named(folder, change, reason):
    changed(folder / TRAIN, change)
    with pytest.raises(CorruptError) as caught:
        read_table(folder / TRAIN)
    assert f"{TRAIN}: row 1: " in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_table_is_refused(folder, tmp_path):
    for data in (b"", b"PAR1", b"PAR1" * 100, (folder / TRAIN).read_bytes()[:-40]):
        (folder / "other.parquet").write_bytes(data)
        with pytest.raises(CorruptError, match=r"other\.parquet is no parquet file"):
            read_table(folder / "other.parquet")
    (folder / "other.parquet").write_bytes(to_parquet([{"a": 1}], {"a": "int64"}, {}))
    with pytest.raises(CorruptError, match=r"lacks the column reward_model\.normalized_reward"):
        read_table(folder / "other.parquet")


def test_columns_that_nothing_asks_for_refuse_no_table(tmp_path):
    path = tmp_path / "other.parquet"
    words = pa.array(["a", "b"]).dictionary_encode()
    columns = {"a": [1, 2], "none": [None, None], "words": words, "when": pa.array([0, 1], pa.timestamp("s"))}
    compression = {"a": "snappy", "none": "none", "words": "zstd", "when": "gzip"}
    pq.write_table(pa.table(columns), path, compression=compression)
    assert from_parquet(path, ["a", "none"])[0] == [{"a": 1, "none": None}, {"a": 2, "none": None}]
    for name, reason in (("words", "compressed with ZSTD"), ("when", "compressed with GZIP")):
        with pytest.raises(CorruptError, match=f"{name} is {reason}"):
            from_parquet(path, ["a", name])
    pq.write_table(pa.table(columns), path)
    for name, kind in (("words", "dictionary"), ("when", "timestamp")):
        with pytest.raises(CorruptError, match=f"{name} is of type {kind}"):
            from_parquet(path, ["a", name])


def test_tables_must_belong_together_and_to_the_model(folder):
    train, val = read_table(folder / TRAIN), read_table(folder / VAL)
    check_tables(train, val, 13)
    with pytest.raises(CorruptError, match=r"token \d+, but the model has 5"):
        check_tables(train, val, 5)
    with pytest.raises(CorruptError, match="state 1 is in"):
        check_tables(train, train, 13)
    written(folder, lines(2, 4))
    rows.convert(folder, states=False, resume=False, notice=lambda line: None)
    with pytest.raises(CorruptError, match="were made of different games"):
        check_tables(train, read_table(folder / VAL), 13)
