import tomllib

import pytest

from scripts.studies.bench.replays import write_games
from scripts.studies.fidelity.folds import fitted_tables, measure_folds, split
from scripts.studies.fidelity.measure import measure
from selfplay_melee.replay import read_replay


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    return write_games(tmp_path_factory.mktemp("games"), games=4, frames=200)


def change_fox(folder):
    path = folder / "characters" / "fox.toml"
    weight = tomllib.loads(path.read_text())["attributes"]["weight"]
    path.write_text(path.read_text().replace(f"weight = {weight}", "weight = 33.0", 1))


@pytest.mark.full
def test_tables_have_what_was_fitted(games):
    tables = fitted_tables(games, lambda replays, folder: change_fox(folder))
    assert 33.0 in tables.characters["weight"]
    assert 33.0 not in fitted_tables(games, lambda replays, folder: None).characters["weight"]


@pytest.mark.full
def test_no_file_is_scored_with_tables_that_it_was_used_for(games):
    fitted = []
    found = measure_folds(games, 2, fit=lambda replays, folder: fitted.append(set(replays)))
    assert [one.name for one in found] == [path.name for path in games]
    assert fitted[0] | fitted[1] == set(games)
    assert not fitted[0] & fitted[1]
    tables = fitted_tables([], lambda replays, folder: None)
    assert found[0].windows.tobytes() == measure(read_replay(games[0]), tables).windows.tobytes()


def test_folds_do_not_depend_on_the_order_of_the_files(games):
    replays = [read_replay(path) for path in games]
    fold = split(replays, 2)
    assert sorted(fold) == [0, 0, 1, 1]
    assert split(replays[::-1], 2) == fold[::-1]
