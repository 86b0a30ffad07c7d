"""What a run of fights keeps: the flags, and that nobody is deleted whom a state on the disk goes on with."""

import pytest

from selfplay.checkpoint import RunDir, named_by_states
from selfplay.errors import ConfigError
from selfplay.run.rating_games import RatingGames
from tests.run.runs import ITERATION, KEPT, train

EACH = ("--save-interval", 1)


def numbers(folder, kind):
    return sorted(int(path.name.rpartition("_")[2]) for path in (folder / kind).iterdir())


@pytest.fixture
def told(monkeypatch):
    """Nobody is rated, and the second generation is best."""

    async def best(self, generations):
        return "gen_1"

    async def strengths(self, generations):
        return {}

    monkeypatch.setattr(RatingGames, "best", best)
    monkeypatch.setattr(RatingGames, "strengths", strengths)


def test_each_flag_keeps_its_states(tmp_path, told):
    assert train(tmp_path / "run", *EACH, *KEPT, "--timesteps", 6 * ITERATION)[0] == 0
    assert numbers(tmp_path / "run", "learner") == [0, 1, 4, 6]
    options = ("--set", "run.keep_checkpoints=3", "--set", "run.keep_every=0", "--timesteps", 9 * ITERATION)
    assert train(tmp_path / "run", *options, resume=True)[0] == 0
    assert numbers(tmp_path / "run", "learner") == [1, 7, 8, 9]


@pytest.mark.full
def test_the_best_generation_is_never_deleted(tmp_path, told):
    """It would be: it is what ``run.keep_best`` makes a difference to."""
    options = (*EACH, "--set", "league.population=4", "--track-elo", "--timesteps", 8 * ITERATION)
    assert train(tmp_path / "without", *options)[0] == 0
    assert 1 not in numbers(tmp_path / "without", "generations")
    assert train(tmp_path / "with", *options, "--set", "run.keep_best=true")[0] == 0
    assert 1 in numbers(tmp_path / "with", "generations")
    assert 1 in numbers(tmp_path / "with", "learner")


@pytest.mark.full
def test_nobody_is_deleted_with_whom_a_state_goes_on(tmp_path):
    """A state that is kept for ever keeps its whole pool, which the run itself has thinned since."""
    options = (*EACH, "--set", "league.population=4", "--set", "run.keep_checkpoints=1", "--timesteps", 9 * ITERATION)
    assert train(tmp_path / "few", *options)[0] == 0
    assert len(numbers(tmp_path / "few", "generations")) <= 5
    assert train(tmp_path / "more", *options, "--set", "run.keep_every=4")[0] == 0
    assert numbers(tmp_path / "more", "learner") == [0, 4, 8, 9]
    there = {f"gen_{number}" for number in numbers(tmp_path / "more", "generations")}
    assert named_by_states(RunDir(tmp_path / "more")) <= there
    assert there > {f"gen_{number}" for number in numbers(tmp_path / "few", "generations")}


def test_the_best_of_a_run_without_ratings_is_nobody(tmp_path):
    with pytest.raises(ConfigError, match=r"--set run.keep_best=true keeps the best by rating games: add --track-elo"):
        train(tmp_path / "run", "--set", "run.keep_best=true")
    assert not RunDir(tmp_path / "run").path.exists()
