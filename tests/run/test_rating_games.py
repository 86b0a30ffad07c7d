import asyncio
import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from scripts.studies.shipped import rated_under
from selfplay.errors import RunnerError
from selfplay.evaluation.players import contender
from selfplay.league import anchors
from selfplay.league.anchors import find_table
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.league.ratings import rate
from selfplay.league.schedule import plan_games
from selfplay.ppo.rating import RatingSettings, play_matchups
from selfplay.run import rating_games
from selfplay.run.ledger import RunLedger
from selfplay.run.rating_games import RatingBlock, RatingBudget, RatingGames, RatingPlan
from selfplay.runner.match import Contender
from selfplay.supervision import ChildSpec, Pool, PoolSpec, running
from tests.league.pools import series
from tests.run.policies import save
from tests.support.fight_rules import fight_rules

RULES = fight_rules(max_episode_frames=120)
SETTINGS = RatingSettings(RULES, ("random", "rusher"))
BOTH = RatingSettings(fight_rules(characters=("mewtwo", "fox"), max_episode_frames=120), ("random", "rusher"))
PLAYERS = ("gen_0", "gen_5", "random", "rusher")


# ---- the budget


def test_games_by_time_cost_what_they_took():
    budget = RatingBudget(0.1, 3600, by_frames=False)
    assert budget.games(0.0, 0) == 0
    budget.pay(10, 10.0)  # a second a game, where 0.05 had been thought
    assert budget.games(100.0, 0) == 0  # the share is spent
    assert budget.games(160.0, 0) == int((0.1 * 160 - 10) / 0.525)
    assert budget.spent == 10.0


def test_games_by_frames_ignore_the_clock():
    budget = RatingBudget(0.5, 100, by_frames=True)
    assert budget.games(9e9, 1000) == 5
    budget.pay(3, 9e9)
    assert budget.games(0.0, 1000) == 2
    assert budget.games(0.0, 1000, part=0.6) == 0


def test_a_part_is_kept_for_later():
    budget = RatingBudget(0.1, 3600, by_frames=False)
    assert budget.games(100.0, 0, part=0.6) == pytest.approx(0.6 * budget.games(100.0, 0), abs=1)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_in_the_long_run_the_share_is_kept(share):
    budget, spent, rng = RatingBudget(share, 3600, by_frames=False), 0.0, np.random.default_rng(0)
    elapsed = 0.0
    for _ in range(2000):
        elapsed += 1.0
        if (games := budget.games(elapsed, 0)) >= 16:
            cost = games * rng.uniform(0.05, 0.4)
            budget.pay(games, cost)
            spent += cost
            elapsed += cost
    assert spent / elapsed <= share + 0.02
    assert spent / elapsed >= 0.7 * share - 0.01


# ---- games


@pytest.fixture(scope="module")
def contenders(tmp_path_factory):
    run = save(tmp_path_factory.mktemp("rated") / "run", 0, 5, character="mewtwo")
    return {name: contender(name, run) for name in PLAYERS}


def test_fixtures_become_records(contenders):
    fixtures = plan_games(GameTable.of([]), SETTINGS, PLAYERS, 8, np.random.default_rng(0))
    records = play_matchups(fixtures, contenders, SETTINGS, iteration=7)
    assert len(records) == 8
    for first, second in zip(records[::2], records[1::2], strict=True):  # one seed, seats swapped
        assert first.seed == second.seed
        assert [s.player for s in first.seats] == [s.player for s in reversed(second.seats)]
    for record in records:
        assert (record.iteration, record.settings, record.facts["stage"]) == (
            7,
            SETTINGS.settings,
            RULES.conditions.stage,
        )
        assert (record.sampling, record.steps, record.facts["finished"]) == ("stochastic", 120, False)
        assert record.seats[0].player != record.seats[1].player
        assert {s.version for s in record.seats if s.player == "gen_5"} <= {
            contenders["gen_5"].policy.meta.weights_hash
        }
    again = play_matchups(fixtures, contenders, SETTINGS, iteration=7)
    assert [r.model_copy(update={"wall": 0}) for r in again] == [r.model_copy(update={"wall": 0}) for r in records]


def test_two_characters_make_fixtures_of_four(contenders):
    fixtures = plan_games(GameTable.of([]), BOTH, PLAYERS, 9, np.random.default_rng(0))
    assert len(fixtures) == 2
    records = play_matchups(fixtures, contenders, BOTH, iteration=1)
    assert len({(r.seats[0].player, r.facts["characters"][0]) for r in records[:4]}) == 4


def test_plans_build_on_the_games_of_these_settings_alone(contenders):
    rng = np.random.default_rng(0)
    ours = play_matchups(plan_games(GameTable.of([]), SETTINGS, PLAYERS, 40, rng), contenders, SETTINGS, 1)
    foreign = series([("gen_0", "random", "win")] * 6)  # of other settings
    fresh = plan_games(GameTable.of([]), SETTINGS, PLAYERS, 4, np.random.default_rng(1))
    assert plan_games(GameTable.of(foreign), SETTINGS, PLAYERS, 4, np.random.default_rng(1)) == fresh
    assert plan_games(GameTable.of(ours), SETTINGS, PLAYERS, 4, np.random.default_rng(1)) != fresh


def test_the_last_block_goes_to_opponents_whose_games_are_not_decided_beforehand():
    """Two shipped policies that no generation has met are 1,000 Elo and more above the last one."""
    table, _ = find_table(rated_under("mewtwo").settings)
    settings = SimpleNamespace(
        settings=table.settings, group=f"{table.settings}/stochastic", games_each=2, anchors=table.by_strength(), seed=0
    )
    results = [("gen_200", "all_rounder", outcome) for outcome in ("win", "loss") for _ in range(8)]
    results += [("gen_200", "edge_guarder", "win")] * 8 + [("gen_200", "gen_0", "win")] * 8
    results += [("gen_0", "walker", outcome) for outcome in ("win", "loss") for _ in range(8)]
    games = replace(GameTable.of(series(results)), groups=(settings.group,))
    resource = RatingBlock(SimpleNamespace(path=None), settings, lambda matchups, *_: list(matchups))
    players = ("gen_0", "gen_200", "gen_250", *settings.anchors)
    played = resource.work(games, players, 68, 7, last=True)
    assert len(played) == 34
    assert played == resource.work(games, players, 68, 7, last=True)
    met = Counter(name for matchup in played for name in matchup.players)
    assert met["gen_250"] >= 28
    assert met["strong"] + met["expert"] + met["random"] + met["walker"] + met["rusher"] <= 2
    assert met["all_rounder"] + met["weak"] + met["gen_200"] >= 20


def test_a_stop_ends_rating_games(contenders):
    fixtures = plan_games(GameTable.of([]), SETTINGS, PLAYERS, 2, np.random.default_rng(0))
    with pytest.raises(RunnerError, match="stopped"):
        play_matchups(fixtures, contenders, SETTINGS, 1, stop=lambda: True)


def test_settings_name_the_bodies():
    assert SETTINGS.games_each == 2
    assert BOTH.games_each == 4
    assert SETTINGS.rules.traits(Contender("random")).version.startswith("bots-")


# ---- the ledger


def keep(ledger, work):
    """Run the ledger as a supervised child, and ``work`` beside it."""

    async def main():
        async with running(Pool(PoolSpec())) as pool:
            ref = await pool.start_child(ChildSpec("ledger", ledger.run))
            return await work(pool, ref)

    return asyncio.run(main())


RECORDS = series([("gen_5", "gen_0", "win"), ("gen_5", "random", "draw"), ("gen_0", "random", "loss")])


def test_recorded_games_are_on_the_disk_once(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = RunLedger(path)
    assert ledger.rows == 0

    async def work(pool, ref):
        await ledger.record(RECORDS[:2])
        assert ledger.rows == 2
        assert len(path.read_text().splitlines()) == 2  # on the disk when record returns
        games = await ledger.record(RECORDS)  # two of them are there already
        assert len(games) == len(await ledger.games()) == 3
        return ledger.rows

    assert keep(ledger, work) == 3
    assert [json.loads(line)["match"] for line in path.read_text().splitlines()] == [r.match for r in RECORDS]


def test_rows_behind_a_checkpoint_are_dropped_once(tmp_path):
    path = tmp_path / "ledger.jsonl"

    async def fill(pool, ref):
        await RunLedger.record(full, RECORDS)

    full = RunLedger(path)
    keep(full, fill)
    ledger = RunLedger(path, keep_rows=1)

    async def work(pool, ref):
        await ledger.games()
        assert ledger.rows == 1
        await ledger.record(RECORDS)
        await pool.terminate_child(ref)
        await pool.start_child(ChildSpec("ledger", ledger.run))  # after a crash nothing is lost
        await ledger.games()
        return ledger.rows

    assert keep(ledger, work) == 3


def test_strengths_are_fitted_anew_only_where_there_are_new_games(tmp_path, monkeypatch):
    ledger, fits = RunLedger(tmp_path / "ledger.jsonl"), []
    monkeypatch.setattr(anchors, "rate", lambda games, **named: fits.append(len(games)) or rate(games, **named))
    settings = SimpleNamespace(settings="abc", group="abc/stochastic", games_each=2)

    async def work(pool, ref):
        found = [await ledger.strengths(settings, ["gen_5"], tmp_path)]
        for records in (RECORDS[2:], [], RECORDS[:1]):
            await ledger.record(records)
            found.append(await ledger.strengths(settings, ["gen_0", "gen_5"], tmp_path))
        return [*found, await ledger.strengths(settings, ["gen_5"], tmp_path)]

    none, first, again, both, one = keep(ledger, work)
    assert none == {}
    assert set(first) == {"gen_0"}
    assert first == again
    assert both["gen_5"] > both["gen_0"]
    assert one == {"gen_5": both["gen_5"]}
    assert fits == [0, 1, 2]


class Slow:
    """A ledger, and a queue, whose every answer takes a second. Games are played in the first two rounds."""

    def __init__(self, records):
        self.seconds, self.rounds, self._records = 0.0, 0, records

    async def games(self):
        self.seconds += 1
        return GameTable.of([])

    async def record(self, records):
        self.seconds += 1
        return GameTable.of([])

    async def ask(self, jobs):
        self.seconds += 1
        self.rounds += 1
        return {"rater-000": self._records if self.rounds <= 2 else []}

    async def work(self, function, *arguments):
        self.seconds += 1
        return (SimpleNamespace(rows=(), newest=None), None, ()) if function.__name__ == "_judge" else None


def test_what_is_made_of_rating_games_counts_towards_their_share(monkeypatch, tmp_path):
    plan = RatingPlan(SimpleNamespace(games_each=2, anchors=()), None, share=0.5, cost_s=0.05)
    slow = Slow(RECORDS)
    monkeypatch.setattr(rating_games, "time", SimpleNamespace(monotonic=lambda: slow.seconds))
    made = RatingGames(None, plan, slow, slow, print)
    progress = SimpleNamespace(
        generations=["gen_0", "gen_5"], newest="gen_5", total_steps=1, elapsed_s=100.0, iteration=5
    )
    asyncio.run(made.rate_if_due(progress))
    assert slow.rounds == 3
    assert made.budget.spent == slow.seconds == 1 + 3 + 2 + 2  # the table, rounds, records; ratings and the files


def test_blocks_are_played_every_fifteen_seconds_of_training():
    plan = RatingPlan(SimpleNamespace(games_each=2, anchors=()), None, share=0.5, cost_s=0.05)
    made = RatingGames(None, plan, Slow([]), Slow([]), print)
    begun = []

    async def block(progress, generations, games, part):
        begun.append((progress.elapsed_s, games))

    made._rate = block
    for elapsed in range(1, 80):
        progress = SimpleNamespace(generations=["gen_0"], total_steps=1, elapsed_s=float(elapsed))
        asyncio.run(made.rate_if_due(progress))
        if elapsed == 45:
            made.budget.pay(90, 30.0)  # more than the share so far: the next waits
    assert [when for when, _ in begun] == [15.0, 30.0, 45.0, 76.0]
    assert [games for _, games in begun[:3]] == [90] * 3  # 0.6 of half of 15 seconds
    assert rating_games.MIN_GAMES_AT_ONCE <= begun[3][1] < 90


def test_the_last_block_spends_the_share_however_much_a_game_cost_before():
    plan = RatingPlan(SimpleNamespace(games_each=2, anchors=()), None, share=0.5, cost_s=5.0)
    made = RatingGames(None, plan, Slow([]), Slow([]), print)
    rounds = []

    async def play(table, games, work):
        assert work.keywords["last"]
        rounds.append(games)
        made.budget.pay(games, 0.1 * games)
        return table, games

    made._round = play
    progress = SimpleNamespace(generations=["gen_0"], newest="gen_5", total_steps=1, elapsed_s=100.0, iteration=5)
    asyncio.run(made.rate_last(progress))
    assert rounds[0] == 16  # more than the ten of five seconds each that the share pays for
    assert 49.0 < made.budget.spent <= 50.0
    assert max(rounds) <= rating_games.GAMES_PER_ROUND


def test_what_is_reported_of_a_table():
    scripted = [("gen_5", "random", "win")] * 15 + [("gen_5", "random", "loss")]
    games = GameTable.of(series([*scripted, ("gen_5", "gen_0", "win"), ("gen_0", "random", "win")]))
    settings = SimpleNamespace(settings="abc", group=games.groups[0], games_each=2, anchors=("random", "walker"))
    made = RatingGames(SimpleNamespace(path=None), RatingPlan(settings, None, 0.1, 0.05), None, None, print)
    board, decided, scores = made._judge(games)
    assert decided is None
    report = rating_games._rating(board, scores, SimpleNamespace(iteration=7, elapsed_s=12.0))
    row = next(row for row in board.rows if row.policy == "gen_5")
    assert (report.generation, report.iteration, report.elapsed_s) == ("gen_5", 7, 12.0)
    assert (report.rating, report.ends) == (row.rating, (row.low, row.high))
    unbeaten = build(GameTable.of(series([("gen_5", "random", "win")])))
    assert rating_games._rating(unbeaten, (), SimpleNamespace(iteration=7, elapsed_s=12.0)).ends[1] is None
    assert [(each.player, each.games, each.score) for each in report.scores] == [("random", 16, 15 / 16)]
    assert report.beats.text(report.scale) == "random (94% of 16 games)"
    assert rating_games._rating(build(GameTable.of([])), (), SimpleNamespace(iteration=7, elapsed_s=12.0)) is None


def test_who_asks_while_it_restarts_waits(tmp_path):
    ledger = RunLedger(tmp_path / "ledger.jsonl")

    async def work(pool, ref):
        await pool.terminate_child(ref)
        asked = asyncio.create_task(ledger.record(RECORDS))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not asked.done()
        await pool.start_child(ChildSpec("ledger", ledger.run))
        await asked
        return ledger.rows

    assert keep(ledger, work) == 3
