import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2

from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.report.rating_events import CURVE, TEXT, write_ratings
from tests.league.pools import series


def board(*extra):
    results = [("gen_5", "gen_0", "win"), ("gen_0", "random", "win"), ("gen_0", "random", "loss"), *extra]
    return build(GameTable.of(series(results)))


def read(folder):
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def test_the_curve_has_each_generations_rating_and_interval_at_its_steps(tmp_path):
    table = board()
    write_ratings(tmp_path / "ratings", table, 1024)
    found = read(tmp_path / "ratings")
    rows = {row.policy: row for row in table.rows}
    elo, low, high = ([(event.step, event.value) for event in found.Scalars(tag)] for tag in CURVE)
    assert [step for step, _ in elo] == [0, 5 * 1024]
    for place, name in enumerate(("gen_0", "gen_5")):
        assert elo[place][1] == pytest.approx(rows[name].elo)
        assert low[place][1] == pytest.approx(rows[name].low)
        assert high[place][1] == pytest.approx(rows[name].high)


def test_the_band_is_laid_out_and_the_table_is_text(tmp_path):
    write_ratings(tmp_path, board(), 1)
    found = read(tmp_path)
    (layout,) = found.Tensors("custom_scalars__config__")
    chart = layout_pb2.Layout.FromString(layout.tensor_proto.string_val[0]).category[0].chart[0]
    assert (chart.margin.series[0].value, chart.margin.series[0].lower, chart.margin.series[0].upper) == CURVE
    (text,) = found.Tensors(TEXT)
    assert "    | Rank | Policy" in text.tensor_proto.string_val[0].decode()
    assert found.summary_metadata[TEXT].plugin_data.plugin_name == "text"


def test_a_new_table_takes_the_place_of_the_old(tmp_path):
    write_ratings(tmp_path, board(), 1)
    write_ratings(tmp_path, board(("gen_0", "gen_5", "win"), ("gen_5", "gen_9", "win")), 1)
    assert len(list(tmp_path.iterdir())) == 1
    assert [event.step for event in read(tmp_path).Scalars("rating/elo")] == [0, 5, 9]


def test_a_run_without_rated_generations_has_its_table(tmp_path):
    write_ratings(tmp_path, build(GameTable.of(series([("random", "rusher", "win")]))), 1)
    assert TEXT in read(tmp_path).Tags()["tensors"]
