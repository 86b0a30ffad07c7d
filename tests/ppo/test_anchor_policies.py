"""Shipped policies as fixed points of the ratings."""

from selfplay.checkpoint import RunDir, read_policy_meta, shipped_policies
from selfplay.cli.ppo import parse
from selfplay.league import anchors
from selfplay.league.anchors import AnchorTable
from selfplay.league.leaderboard import build
from selfplay.league.ledger import read_games
from selfplay.ppo.rating import settings_of
from tests.run.runs import CAP, ITERATION, train


def test_the_last_generation_meets_a_shipped_policy_that_the_table_lists_near_it(tmp_path, monkeypatch):
    settings = settings_of(parse(["--game-type", "mock", "--max-episode-frames", str(CAP)]).config)
    elo = {name: 1500.0 + 1000.0 * place for place, name in enumerate(settings.anchors)} | {"weak": 1550.0}
    version = str(read_policy_meta(shipped_policies()["weak"]).weights_hash)
    table = AnchorTable(
        settings=settings.settings,
        described=settings.described,
        rating=elo,
        se=dict.fromkeys(elo, 0.0),
        games=2,
        seed=0,
        policies={"weak": version},
    )
    (tmp_path / "anchor_tables").mkdir()
    (tmp_path / "anchor_tables" / f"{settings.settings}.json").write_text(table.model_dump_json())
    monkeypatch.setattr(anchors, "policy_folders", lambda: (tmp_path,))
    run = RunDir(tmp_path / "run")
    code, _ = train(run.path, "--track-elo", "--timesteps", ITERATION)
    assert code == 0
    games = read_games(run.ledger)
    weak = games.seats_among(["weak"]) == 0
    assert weak.any()
    row = next(row for row in build(games, run=run.path).rows if row.policy == "weak")
    assert (row.rating, row.fixed) == (elo["weak"], True)
    assert row.games == weak.sum()
    assert version in run.ledger.read_text()
