from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.report.files import TEXT, write_ratings
from tests.league.pools import series


def board(*extra):
    results = [("gen_5", "gen_0", "win"), ("gen_0", "random", "win"), ("gen_0", "random", "loss"), *extra]
    return build(GameTable.of(series(results)))


def read(folder):
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def test_the_table_is_text_at_the_steps_of_the_run(tmp_path):
    write_ratings(tmp_path / "ratings", board(), 5 * 1024)
    found = read(tmp_path / "ratings")
    (text,) = found.Tensors(TEXT)
    assert "    | Rank | Policy" in text.tensor_proto.string_val[0].decode()
    assert text.step == 5 * 1024
    assert found.summary_metadata[TEXT].plugin_data.plugin_name == "text"
    assert found.Tags()["scalars"] == []  # the one curve of Elo is `charts/elo`


def test_a_new_table_takes_the_place_of_the_old(tmp_path):
    write_ratings(tmp_path, board(), 1)
    write_ratings(tmp_path, board(("gen_0", "gen_5", "win"), ("gen_5", "gen_9", "win")), 2)
    assert len(list(tmp_path.iterdir())) == 1
    (text,) = read(tmp_path).Tensors(TEXT)
    assert "gen_9" in text.tensor_proto.string_val[0].decode()


def test_a_run_without_rated_generations_has_its_table(tmp_path):
    write_ratings(tmp_path, build(GameTable.of(series([("random", "rusher", "win")]))), 1)
    assert TEXT in read(tmp_path).Tags()["tensors"]
