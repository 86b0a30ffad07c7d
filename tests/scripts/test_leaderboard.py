import csv
import io
import json
import sys

import pytest

from selfplay.league.ledger import Ledger
from tests.league.pools import series
from tests.scripts import commands
from tests.support.processes import finish


def run(*arguments, cwd="."):
    return commands.run("leaderboard", *arguments, cwd=cwd)


def run_code(code):
    return finish([sys.executable, "-c", code])


@pytest.fixture
def rated(tmp_path):
    folder = tmp_path / "rated"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    with Ledger.open(folder / "ledger.jsonl") as ledger:
        ledger.append(
            series([("gen_5", "gen_0", "win")] * 4 + [("gen_0", "random", "win"), ("random", "gen_5", "draw")])
        )
    return folder


def test_it_prints_the_table_of_a_run(rated):
    done = run(rated)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("═══ Elo Leaderboard ═══\n| Rank | Policy")
    assert "gen_5" in done.stdout
    assert done.stderr == ""


def test_it_works_from_anywhere_and_while_the_run_writes(rated, tmp_path):
    with Ledger.open(rated / "ledger.jsonl"):
        assert run(rated.name, cwd=tmp_path).returncode == 0


def test_csv_has_a_line_a_player(rated):
    rows = list(csv.DictReader(io.StringIO(run(rated, "--csv").stdout)))
    board = json.loads(run(rated, "--json", "--all").stdout)
    assert [row["policy"] for row in rows] == [row["policy"] for row in board["rows"]]
    assert [float(row["rating"]) for row in rows] == [row["rating"] for row in board["rows"]]
    assert [[int(row["rank_best"]), int(row["rank_worst"])] for row in rows] == [row["ranks"] for row in board["rows"]]


def test_json_is_json_alone(rated):
    board = json.loads(run(rated, "--json", "--elo", "sequential").stdout)
    assert board["method"] == "sequential"
    assert {row["policy"] for row in board["rows"]} == {"gen_5", "gen_0", "random"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere holds no run"),
        (["RUN", "--settings", "ffff"], "no game was played under the settings 'ffff'"),
        (["RUN", "--elo", "glicko"], "glicko"),
        (["RUN", "--jsn"], "--json"),
    ],
)
def test_bad_input_is_one_clear_line(rated, arguments, message):
    done = run(*(rated if argument == "RUN" else argument for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_run_without_rating_games_says_what_to_do(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "has no rating games yet; train it with --track-elo" in done.stderr


def test_a_corrupt_ledger_is_named_by_line(rated):
    path = rated / "ledger.jsonl"
    path.write_text(path.read_text().replace('"format":2', '"format":1', 1))
    done = run(rated)
    assert done.returncode == 2
    assert "ledger.jsonl:1: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_it_starts_without_torch_and_without_games(rated):
    code = (
        f"import runpy, sys; sys.argv = ['selfplay', 'leaderboard', {str(rated)!r}]\n"
        "try: runpy.run_module('selfplay', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "heavy = {'torch', 'numba', 'gymnasium', 'tensorboard', 'rich', 'selfplay.games.registry'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = run_code(code)
    assert done.returncode == 0, done.stderr


def test_html_is_a_page_and_says_where_it_is(rated, tmp_path):
    path = tmp_path / "pages" / "run.html"
    done = run(rated, "--html", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path} (0.")
    text = path.read_text()
    assert "gen_5" in text
    assert "No rated game can be played again" in text  # a run without a configuration
    assert list(path.parent.iterdir()) == [path]


def test_a_page_of_other_programs_games_needs_no_run_and_no_torch(tmp_path):
    games, path = tmp_path / "games.csv", tmp_path / "games.html"
    games.write_text("first,second,score\n<b>A</b>,B,1\nB,<b>A</b>,0.5\n")
    code = (
        f"import runpy, sys; sys.argv = ['selfplay', 'leaderboard', '--games', {str(games)!r}]\n"
        f"sys.argv += ['--html', {str(path)!r}]\n"
        "try: runpy.run_module('selfplay', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "assert 'torch' not in sys.modules"
    )
    done = run_code(code)
    assert done.returncode == 0, done.stderr
    assert "&lt;b&gt;A&lt;/b&gt;" in path.read_text()
    assert "<b>A</b>" not in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "p.html", "--json"], "not allowed with argument"),
        (["--html", "p.html", "--csv"], "not allowed with argument"),
        (["--html", "run.json"], "cannot write"),
        (["--html", "run.json/p.html"], "cannot write"),
    ],
)
def test_a_page_that_cannot_be_is_one_clear_line(rated, arguments, message):
    folder = rated / "run.json" if "cannot" in message else rated
    before = sorted(rated.iterdir())
    arguments = [str(folder.parent / a) if a.startswith("run.json") else a for a in arguments]
    if arguments[1].endswith("run.json"):
        arguments[1] = str(rated)  # a folder
    done = run(rated, *arguments, cwd=rated)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(rated.iterdir()) == before


def test_it_rates_games_of_other_programs(tmp_path, rated):
    (tmp_path / "games.csv").write_text("first,second,score\nA,B,1\nB,A,0.5\n")
    (tmp_path / "bad.csv").write_text("first,second,score\nA,B,won?\n")
    (tmp_path / "games.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "*"]\n')
    done = run("--games", tmp_path / "games.csv", tmp_path / "games.pgn", "--anchor", "B")
    assert done.returncode == 0, done.stderr
    assert "B = 1500; 2 games" in done.stdout
    assert "Left out: 1 game without a result." in done.stdout
    for arguments, message in (
        ((rated, "--games", tmp_path / "games.csv"), "without RUN, --settings and --game-type"),
        ((rated, "--anchor", "B"), "goes with --games"),
        (("--games", tmp_path / "none.csv"), "cannot read"),
        (("--games", rated), "is not a plain file"),
        (
            ("--games", tmp_path / "games.csv", tmp_path / "bad.csv", "--html", tmp_path / "page.html"),
            "bad.csv:2: score",
        ),
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_json_and_csv_of_other_programs_games_have_intervals_and_likelihoods(tmp_path):
    (tmp_path / "games.jsonl").write_text('{"white": "A", "black": "B", "winner": "A"}\n' * 3)
    board = json.loads(run("--games", tmp_path / "games.jsonl", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(run("--games", tmp_path / "games.jsonl", "--csv").stdout)))
    assert board["external"]
    assert [(row["policy"], row["wins"]) for row in board["rows"]] == [("A", 3), ("B", 0)]
    assert board["rows"][0]["above_next"] > 0.5
    assert float(rows[0]["above_next"]) == board["rows"][0]["above_next"]
    assert {"rating", "low", "high", "rank_best", "rank_worst"} <= rows[0].keys()
