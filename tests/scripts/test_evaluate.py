import json
import sys

import pytest

from selfplay.commands.cli import evaluate
from selfplay.games.game import Game
from selfplay.league.rewards import BY_WINS
from tests.run.policies import save, save_imitation, save_other
from tests.scripts.commands import mistake, run_process

FIELDS = {
    "a", "b", "games", "counted", "wins", "losses", "draws", "score", "low", "high", "finished", "seconds", "damage",
    "self_destructs", "stocks_per_minute", "damage_per_minute",
} | {
    "elo", "elo_low", "elo_high", "superiority", "sprt", "llr", "llr_low", "llr_high", "sprt_elo", "games_needed",
    "verdict",
}  # fmt: skip


@pytest.fixture
def trained(tmp_path):
    return save(tmp_path / "run", 0, 5)


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay evaluate", *map(str, arguments)])
    return evaluate.main()


def test_json_is_json_alone(trained, monkeypatch, capsys):
    assert call(monkeypatch, trained.path, "rusher", "--games", 6, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == FIELDS
    assert (result["a"], result["b"], result["games"]) == (str(trained.path), "rusher", 6)
    assert result["wins"] + result["losses"] + result["draws"] == 6
    assert result["score"] == pytest.approx((result["wins"] + result["draws"] / 2) / 6)
    assert result["low"] <= result["score"] <= result["high"]


def test_a_person_reads_a_few_lines(trained, monkeypatch, capsys):
    a, b = trained.generations / "gen_5", trained.generations / "gen_0"
    assert call(monkeypatch, a, b, "--games", 4) == 0
    first, score, *rest = capsys.readouterr().out.splitlines()
    assert first == f"{a} against {b}: 4 games, fox and fox on battlefield"
    assert "95% interval" in score
    assert len(rest) == 4
    assert "of the games finished" in rest[0]
    assert rest[2].startswith("  a minute: ")
    assert rest[-1].startswith("  gen_5 against gen_0: ")


def test_two_policies_of_one_name_are_told_apart(tmp_path, monkeypatch, capsys):
    a, b = (save_imitation(tmp_path / parent / "imitation_best_policy") for parent in ("one", "two"))
    assert call(monkeypatch, a, b, "--games", 2, "--max-episode-frames", 60) == 0
    assert f"  {a} against {b}: " in capsys.readouterr().out


def test_the_bounds_of_the_test_are_options(monkeypatch, capsys):
    flags = ("--games", 20, "--max-episode-frames", 1200, "--json")
    assert call(monkeypatch, "rusher", "random", *flags, "--sprt", 0, 400) == 0
    wide = json.loads(capsys.readouterr().out)
    assert call(monkeypatch, "rusher", "random", *flags) == 0
    narrow = json.loads(capsys.readouterr().out)
    assert narrow["llr"] != wide["llr"]
    assert (narrow["sprt_elo"], wide["sprt_elo"]) == ([0, 30], [0, 400])
    assert "sequential test of 0 against 400 Elo: " in wide["verdict"]
    assert call(monkeypatch, "rusher", "random", *flags, "--sprt", 30, 0) == 2
    assert "elo0 must be below elo1" in capsys.readouterr().err


def test_games_that_repeat_are_named(tmp_path, monkeypatch, capsys):
    runs = [save_other(tmp_path / name, "selfplay.examples.tic_tac_toe:TicTacToe") for name in ("one", "two")]
    assert call(monkeypatch, *runs, "--games", 20, "--greedy") == 0
    _, repeats, *_ = capsys.readouterr().out.splitlines()
    assert repeats.startswith("  games with the same seats were all the same")
    assert "each of the 2 different games" in repeats


def test_a_game_is_judged_by_what_it_is_played_for(monkeypatch, capsys):
    flags = ("random", "random", "--games", 20, "--game-type")
    assert call(monkeypatch, *flags, "kuhn") == 0
    poker = capsys.readouterr().out.splitlines()
    assert poker[0] == "random against random: 20 games of kuhn, played for chips, -2 to 2: the mean payoff counts"
    assert " chips a game (95% interval " in poker[-1]
    assert poker[-2].endswith(" lost, 0 drawn, for information: payoffs count")
    assert not [line for line in poker if "score" in line]
    assert call(monkeypatch, *flags, "selfplay.examples.tic_tac_toe:TicTacToe") == 0
    board = capsys.readouterr().out.splitlines()
    assert board[0] == "random against random: 20 games of selfplay.examples.tic_tac_toe:TicTacToe"
    assert " Elo (95% interval " in board[-1]
    assert not [line for line in (*poker, *board) if BY_WINS in line]


def test_partners_are_shown_with_themselves_too(monkeypatch, capsys):
    flags = ("--games", 20, "--game-type", "tests.scripts.test_evaluate:Meet")
    assert call(monkeypatch, "zero", "one", *flags) == 0
    told = capsys.readouterr().out
    assert not {"score", "won"} & {*told.split()}
    *_, apart, zeros, ones = told.splitlines()
    assert apart.startswith("  zero with one: 0.000 points a game (95% interval 0.000 to 0.000); both get it")
    assert zeros.startswith("  zero with zero: 1.000 points a game ")
    assert ones.startswith("  one with one: 1.000 points a game ")
    assert call(monkeypatch, "zero", "zero", *flags) == 0
    assert capsys.readouterr().out.count("zero with zero: ") == 1
    assert call(monkeypatch, "zero", "one", *flags, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["reward"], found["a_with_itself"], found["b_with_itself"]) == (0.0, 1.0, 1.0)


class Meet(Game):
    """Both get 1 if they choose the same."""

    num_actions, obs_width, objective = 2, 1, "shared"
    players = {"zero": lambda game, seat, rng: 0, "one": lambda game, seat, rng: 1}  # noqa: RUF012

    def reset(self, seed):
        self.seed = seed

    def observe(self, seat):
        return [0.0]

    def step(self, actions):
        same = float(actions[0] == actions[1])
        return (same, same), True, False


def test_the_same_command_gives_the_same_result(monkeypatch, capsys):
    results = []
    for seed in (0, 0, 1):
        flags = ("--games", 4, "--json", "--seed", seed, "--max-episode-frames", 1200)
        call(monkeypatch, "rusher", "random", *flags)
        results.append(capsys.readouterr().out)
    assert results[0] == results[1] != results[2]


def test_flags_have_an_effect(trained, monkeypatch, capsys):
    flags = ("--character", "mewtwo", "--opponent-character", "fox", "--stage", "final_destination")
    assert call(monkeypatch, trained.path, "idle", "--games", 4, *flags, "--max-episode-frames", 60, "--greedy") == 0
    out = capsys.readouterr().out
    assert "mewtwo and fox on final_destination" in out
    assert "1 s of game time each" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RUN", "rushr"], "did you mean 'rusher'"),
        (["nowhere/gen_1", "random"], "nowhere/gen_1 holds no policy"),
        (["RUN", "random", "--games", "1"], "at least 2"),
        (["RUN", "random", "--games", "many"], "--games many: a whole number is needed"),
        (["RUN", "random", "--stage", "battlefeld"], "did you mean 'battlefield'"),
        (["RUN", "random", "--character", "foxx"], "did you mean 'fox'"),
        (["RUN", "random", "--max-episode-frames", "0"], "--max-episode-frames 0: at least 1 is needed"),
        (["RUN", "random", "--jsn"], "unknown flag --jsn: did you mean --json?"),
        (["RUN"], "B is missing: opponent of A"),
        (["old.axon", "random"], "old.axon is a file of the predecessor"),
    ],
)
def test_mistakes_are_one_clear_line(trained, monkeypatch, capsys, arguments, words):
    named = [str(trained.path) if argument == "RUN" else argument for argument in arguments]
    assert words in mistake(capsys, "selfplay evaluate", lambda: call(monkeypatch, *named))


@pytest.mark.full
def test_it_runs_from_anywhere(tmp_path):
    done = run_process("evaluate", "random", "idle", "--games", 2, "--max-episode-frames", 60, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == FIELDS
