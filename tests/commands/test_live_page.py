"""The live page of a run: what it answers, from files alone."""

import http.client
import json
import os
import time
from urllib.parse import urlencode

import pytest

from selfplay import loopback
from selfplay.commands import live_page
from selfplay.commands.cli import live
from selfplay.commands.live_page import LiveRun, LiveServer, ago, described, newest_game
from selfplay.games.columns import NONE
from selfplay.report.health import Health
from selfplay.report.leaderboard_page.curves import POINTS, SHARES, training
from selfplay.report.leaderboard_page.growing import GrowingCurves
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay.report.leaderboard_page.tree import tree_section
from selfplay.report.tree_status import RunStatus, TreeStatus
from selfplay_melee.commands.cli import watch
from tests.dialogue.report.talks import HOSTILE, transcript
from tests.league.pools import series
from tests.report.boards import folder, metrics
from tests.scripts.commands import mistake
from tests.scripts.test_tree import BEGAN, ROWS, crash
from tests.support.processes import wait_for
from tests.support.servers import served


def append(path, rows):
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def merged(before, changed):
    """What the page's script makes of an answer."""
    first, shares = changed["from"], changed["shares_from"]
    if not first and not shares:
        return changed
    now = {**changed, "x": before["x"][:first] + changed["x"]}
    for kind in ("play", "losses"):
        pairs = zip(before[kind], changed[kind], strict=True)
        now[kind] = [{"name": new["name"], "y": old["y"][:first] + new["y"]} for old, new in pairs]
    for kind in ("opponents", "phases"):
        pairs = zip(before[kind]["series"], changed[kind]["series"], strict=True)
        series = [{"name": new["name"], "y": old["y"][:shares] + new["y"]} for old, new in pairs]
        now[kind] = {"x": before[kind]["x"][:shares] + changed[kind]["x"], "series": series}
    return now


class Follower:
    """A page that asks for curves."""

    def __init__(self, path):
        self.curves, self.page, self.at, self.monitor = GrowingCurves(path, NONE), None, "", Health()

    def ask(self):
        self.curves.read(self.monitor)
        changed = self.curves.changes(self.at)
        if changed is not None:
            self.page, self.at = merged(self.page, changed), changed["at"]
        return changed


def test_a_page_that_follows_a_run_has_the_curves_of_all_rows(tmp_path):
    rows = metrics(60)
    run = folder(tmp_path / "run", rows[:7])
    follower = Follower(run / "metrics.jsonl")
    follower.ask()
    for i in range(7, 60, 3):
        append(run / "metrics.jsonl", rows[i : i + 3])
        assert len(json.dumps(follower.ask())) < 3000
    assert follower.ask() is None
    whole = training(RunRecords.of(run), NONE)
    assert {name: follower.page[name] for name in ("x", "play", "losses", "each")} == {
        name: whole[name] for name in ("x", "play", "losses", "each")
    }


def test_curves_of_long_runs_stay_small_and_keep_their_means(tmp_path):
    rows = metrics(3000)
    run = folder(tmp_path / "run", rows[:1])
    follower = Follower(run / "metrics.jsonl")
    for i in range(1, 3000, 50):
        follower.ask()
        append(run / "metrics.jsonl", rows[i : i + 50])
    changed = follower.ask()
    page = follower.page
    assert changed["from"] > 0
    assert POINTS <= len(page["x"]) <= 2 * POINTS
    assert SHARES <= len(page["opponents"]["x"]) <= 2 * SHARES
    assert page["x"][-1] == 3_000_000
    speeds = next(one["y"] for one in page["play"] if one["name"] == "Steps a second")
    each = page["each"]
    groups = [range(i + 1, min(i + each, 3000) + 1) for i in range(0, 3000, each)]
    assert speeds == pytest.approx([20_000 + sum(group) / len(group) for group in groups], rel=1e-4)
    fresh = Follower(run / "metrics.jsonl")
    fresh.ask()
    assert {**fresh.page, "at": "", "from": 0, "shares_from": 0} == {**page, "at": "", "from": 0, "shares_from": 0}


def test_rows_that_a_resumed_run_plays_again_replace_those_before(tmp_path):
    run = folder(tmp_path / "run", metrics(20))
    path = run / "metrics.jsonl"
    follower = Follower(path)
    follower.ask()
    new = tmp_path / "new"
    new.write_text("".join(json.dumps({**row, "losses/value": 9.0}) + "\n" for row in metrics(12)))
    os.replace(new, path)
    assert follower.ask()["from"] == 0
    assert follower.page["x"] == [1000 * i for i in range(1, 13)]
    assert follower.curves.last["iteration"] == 12


def test_a_torn_row_waits_for_its_end(tmp_path):
    run = folder(tmp_path / "run", metrics(2))
    follower = Follower(run / "metrics.jsonl")
    row = json.dumps(metrics(3)[2])
    with (run / "metrics.jsonl").open("a") as file:
        file.write(row[:40])
        file.flush()
        follower.ask()
        assert follower.page["x"] == [1000, 2000]
        file.write(row[40:] + "\n")
    follower.ask()
    assert follower.page["x"] == [1000, 2000, 3000]


def status(trainer, ended=None, fate="a trainer (process 7) is at work"):
    tree = TreeStatus(written=BEGAN, began=BEGAN, pid=7, ended=ended, rows=ROWS)
    return RunStatus(run="r", trainer=trainer, fate=fate, standing=tree, crashes=(crash(1, message=HOSTILE),))


@pytest.mark.parametrize(
    ("found", "silent_s", "state", "text"),
    [
        (status("7"), 3.0, "training", "A trainer (process 7) is at work."),
        (status("7"), 45.0, "silent", "The trainer (process 7) has not written for 45 s."),
        (status(None, "finished", "finished"), 200.0, "ended", "The run has ended, 3 min ago: finished."),
        (status(None, None, "killed"), 9000.0, "killed", "The run has ended, 2 h ago: killed."),
    ],
)
def test_the_state_of_a_run_is_said_in_words(found, silent_s, state, text):
    assert described(found, silent_s) == (state, text)


def test_the_tree_has_every_child_once_and_runs_nothing_of_a_message():
    html = tree_section(status("7"))
    assert html.count("<li class=") == len(ROWS)
    assert '<li class="restarting">learner' in html
    assert "1 restart" in html
    assert HOSTILE not in html


def test_ago():
    assert [ago(seconds) for seconds in (0.4, 119, 120, 7200)] == ["0 s ago", "119 s ago", "2 min ago", "2 h ago"]


def test_the_newest_game_that_finished_is_found_behind_rows_that_are_torn(tmp_path):
    rows = series([("gen_1", "random", "win"), ("gen_2", "random", "loss"), ("gen_2", "gen_1", "draw")])
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(f"{row.row()}\n" for row in rows) + '{"format": 2, "mat')
    assert newest_game(path, lambda game: "") == rows[2]
    assert newest_game(path, lambda game: None if game == rows[2] else "") == rows[1]
    assert newest_game(path, lambda game: None) == rows[2]
    assert newest_game(tmp_path / "none", lambda game: "") is None


def serving(run, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return served(LiveServer(run, 0))


def ask(server, path="", **headers):
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    try:
        connection.request("GET", f"/{server.token}/{path}", headers={"Host": server.host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_page_is_sent_what_it_lacks_and_nothing_twice(tmp_path, monkeypatch):
    run = folder(tmp_path / "run")
    (run / "ledger.jsonl").write_text("".join(f"{row.row()}\n" for row in series([("gen_10", "random", "win")] * 4)))
    monkeypatch.setattr(LiveRun, "_newest_game", lambda self: {"why": "No game."})
    with serving(run, monkeypatch, tmp_path / "cache") as server:
        assert ask(server)[1].startswith(b"<!doctype html>")
        wait_for(lambda: {"board", "game"} <= set(json.loads(ask(server, "changes")[1])["parts"]))
        first = json.loads(ask(server, "changes")[1])
        assert "has no tree.json" in first["status"]["text"]
        assert first["status"]["figures"].startswith("Iteration 60, 60,000 steps, 20,060 steps a second.")
        assert "gen_10" in first["parts"]["board"]["content"]["html"]
        known = {name: part["at"] for name, part in first["parts"].items()}
        assert set(known) == {"training", "board", "game", "health"}
        again = json.loads(ask(server, f"changes?{urlencode(known)}")[1])
        assert again["parts"] == {}
        append(run / "metrics.jsonl", metrics(61)[60:])
        assert set(json.loads(ask(server, f"changes?{urlencode(known)}")[1])["parts"]) == {"training"}
        assert ask(server, "changes?" + "&".join(f"a{i}=1" for i in range(99)))[0] == 400
        assert ask(server, "changes", Host="other.test")[0] == 403
        assert ask(server, "other")[0] == 404


def test_what_takes_long_is_made_again_only_within_its_share_of_the_processors(tmp_path, monkeypatch):
    ledger = tmp_path / "ledger.jsonl"
    ledger.touch()
    part = live_page._Part((ledger,), lambda: {"number": time.perf_counter_ns()})
    clock = iter([0.0, 0.5])  # of the thread
    monkeypatch.setattr(live_page.time, "thread_time", lambda: next(clock))
    now = [1000.0]
    monkeypatch.setattr(live_page.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(live_page.time, "monotonic", lambda: now[0])
    part.make_if_due()
    os.utime(ledger, ns=(1, 1))
    now[0] += 0.5 / (4 * live_page.SHARE) - 1
    assert not part.is_due()
    now[0] += 2
    assert part.is_due()


def test_games_to_read_are_those_of_the_last_iteration(tmp_path):
    run = folder(tmp_path / "run")
    (run / "run.json").write_text(json.dumps({"config": {"game": {"type": "matching"}, "grpo": {}}}))
    (run / "latest_games.jsonl").write_text(transcript(text=HOSTILE).row() + "\n")
    found = LiveRun(run)
    assert 'id="reading"' in found.page()
    reading = json.loads(found.changes({}))["parts"]["reading"]["content"]["html"]
    assert reading.count("<details") == 1
    assert HOSTILE not in reading
    found.close()


def test_the_address_of_a_run_is_the_same_at_each_start_and_of_this_user_alone(tmp_path):
    cache = tmp_path / "cache"
    token = loopback.lasting_token(cache, "a")
    assert token == loopback.lasting_token(cache, "a")
    assert token != loopback.lasting_token(cache, "b")
    assert token != loopback.lasting_token(tmp_path / "other", "a")
    key = cache / "page_key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 32
    for spoil in (lambda: key.chmod(0o644), lambda: key.write_bytes(b"short")):
        spoil()
        assert loopback.lasting_token(cache, "a") != loopback.lasting_token(cache, "a")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none", "--live"], "none holds no run"),
        (["mine", "random", "--live"], "--live shows a run as it trains and takes no players"),
        (["mine", "--live", "--seed", "0"], "takes no --seed"),
        (["mine", "--live", "--from", "0"], "takes no --from"),
        (["mine", "--live", "--port", "70000"], "--port 70000: 0 to 65535 are possible"),
        (["mine", "--port", "0"], "--port and --no-open go with --live"),
        (["mine", "--live", "--game-type", "kuhn"], "checkpoints/mine plays mock, not kuhn"),
    ],
)
def test_mistakes_are_told_before_anything_is_served(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    folder(tmp_path / "checkpoints" / "mine")
    monkeypatch.setattr("sys.argv", ["selfplay watch", *words])
    monkeypatch.setattr(live, "_serve", lambda folder, options: pytest.fail("it serves"))
    assert told in mistake(capsys, "selfplay watch", watch.main)


def test_a_port_in_use_is_a_mistake(tmp_path, monkeypatch, capsys):
    run = folder(tmp_path / "run")
    with serving(run, monkeypatch, tmp_path / "cache") as server:
        monkeypatch.setattr(
            "sys.argv", ["selfplay watch", str(run), "--live", "--port", str(server.server_address[1]), "--no-open"]
        )
        assert "--port 0 takes a free port" in mistake(capsys, "selfplay watch", watch.main)
