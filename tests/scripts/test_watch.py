import sys
from pathlib import Path

import pytest
from PIL import Image, ImageSequence

from selfplay.checkpoint import create_run
from selfplay.config.ppo import Config
from selfplay.evaluation.players import contender
from selfplay.league.ledger import Ledger
from selfplay.league.schedule import Matchup
from selfplay.ppo.rating import play_matchups, settings_of
from selfplay_melee.commands.cli import watch
from selfplay_melee.drawing.film import film_of
from selfplay_melee.replay import read_replay
from tests.melee.drawing.fights import replay
from tests.run.policies import save, save_imitation
from tests.scripts import commands
from tests.support.cases import first_alone

CONFIG = Config.model_validate({"game": {"character": "fox", "stage": "battlefield", "max_episode_frames": 120}})
REPLAYS = Path(__file__).parents[2].parent / "shared" / "replays"


@pytest.fixture
def run(tmp_path):
    """A run with one untrained generation."""
    return save(tmp_path / "run", 0)


@pytest.fixture
def game(tmp_path, monkeypatch):
    """A replay file of ten seconds, as far as the script can tell, in a folder of its own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    path = tmp_path / "files" / "Game_1.slp"
    path.write_bytes(b"")
    monkeypatch.setattr("selfplay_melee.replay.read_replay", lambda name: replay(600, items=9))
    return path


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay watch", *map(str, arguments)])
    return watch.main()


def lasts_ms(path):
    with Image.open(path) as gif:
        return sum(frame.info["duration"] for frame in ImageSequence.Iterator(gif))


def test_a_run_alone_becomes_a_page_that_says_why_this_fight(run, monkeypatch, capsys):
    assert call(monkeypatch, run.path) == 0
    first, players, moment = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{run.path / 'gen_0-vs-gen_0.html'} (")
    assert first.endswith("2.0 s of game)")
    assert "--track-elo" in players
    assert moment.startswith("From 0:0")


def test_a_fight_becomes_a_gif(run, monkeypatch, capsys):
    path = run.path / "a.gif"
    assert call(monkeypatch, run.path, "random", "--out", path) == 0
    assert capsys.readouterr().out.startswith(str(path))
    assert lasts_ms(path) == pytest.approx(2000, abs=100)


@pytest.mark.full
def test_a_policy_folder_is_left_as_it_is(tmp_path, monkeypatch, capsys):
    policy = save_imitation(tmp_path / "imitation_best_policy")
    before = sorted(policy.iterdir())
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, policy.name, "random", "--seconds", 1) == 0
    assert capsys.readouterr().out.startswith("imitation_best_policy-vs-random.html")
    assert sorted(policy.iterdir()) == before
    assert call(monkeypatch, policy.name, "--game", "1") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "imitation_best_policy" in line


def test_a_part_of_a_fight(run, monkeypatch, tmp_path):
    path = tmp_path / "part.gif"
    assert call(monkeypatch, run.path, "random", "--from", 0.5, "--seconds", 1, "--out", path) == 0
    assert lasts_ms(path) == pytest.approx(1000, abs=100)


def test_the_same_seed_gives_the_same_fight(run, monkeypatch):
    files = [run.path / f"{number}.html" for number in range(3)]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        assert call(monkeypatch, run.path, "--from", 0, "--seconds", 1, "--seed", seed, "--out", path) == 0
    first, again, other = (path.read_text().replace("seed 2", "seed 1") for path in files)
    assert first == again != other


def test_an_unknown_kind_of_file_is_refused_before_a_game_is_played(run, monkeypatch, capsys):
    monkeypatch.setattr("selfplay_melee.commands.watch.fixture", lambda *_: pytest.fail("played"))
    assert call(monkeypatch, run.path, "--out", run.path / "a.mp4") == 2
    assert "a.mp4: unknown kind of file '.mp4' (valid: .html, .gif, .slp)" in capsys.readouterr().err


def test_a_rated_game_plays_again(run, monkeypatch, capsys):
    run.write_run({"config": CONFIG.model_dump(mode="json")})
    players = {name: contender(name, run) for name in ("gen_0", "random")}
    with Ledger.open(run.ledger) as ledger:
        (game, other) = play_matchups([Matchup(("gen_0", "random"), seed=5)], players, settings_of(CONFIG), 1)
        ledger.append([game, other.model_copy(update={"steps": 7})])
    assert call(monkeypatch, run.path, "--game", game.match[:20]) == 0
    assert capsys.readouterr().out.startswith(str(run.path / f"game-{game.match}.html"))
    for arguments, words in (
        ((other.match,), "cannot be played again"),
        ((game.match[:16],), "start of 2 games"),
        ((game.match, "random"), "leave the players out"),
    ):
        assert call(monkeypatch, run.path, *arguments[1:], "--game", arguments[0]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line


def test_a_replay_becomes_a_page_in_the_current_folder(game, monkeypatch, capsys):
    assert call(monkeypatch, game) == 0
    assert capsys.readouterr().out.startswith("Game_1.html (0.1 MB, 10.0 s of game)")
    assert Path("Game_1.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in game.parent.iterdir()] == ["Game_1.slp"]


def test_a_page_that_exists_is_replaced_only_where_it_is_named(game, monkeypatch, capsys):
    Path("Game_1.html").write_text("mine")
    for number in (2, 3):
        assert call(monkeypatch, game) == 0
        assert capsys.readouterr().out.startswith(f"Game_1-{number}.html (")
    assert Path("Game_1.html").read_text() == "mine"
    assert call(monkeypatch, game, "--out", "Game_1.html") == 0
    assert Path("Game_1.html").read_text().startswith("<!doctype html>")


def test_the_same_players_twice_are_two_pages(run, monkeypatch):
    for _ in range(2):
        assert call(monkeypatch, run.path, "random", "--seconds", 1) == 0
    assert sorted(path.name for path in run.path.glob("*.html")) == ["gen_0-vs-random-2.html", "gen_0-vs-random.html"]


def test_a_fight_of_the_mock_becomes_a_replay_that_can_be_watched(run, monkeypatch, tmp_path, capsys):
    path = tmp_path / "fight.slp"
    assert call(monkeypatch, run.path, "random", "--seconds", 1, "--out", path) == 0
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, path) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("fight.html (")
    film = film_of(read_replay(path))
    assert film.names == ("gen_0", "random")
    assert len(film) == 60
    assert call(monkeypatch, path, "--out", "again.slp") == 2
    assert "is a replay file already" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "seconds"), first_alone([(("--seconds", 1), 1), ((), 12), (("--from", 8), 2)]))
def test_a_replay_becomes_a_gif(game, monkeypatch, arguments, seconds):
    assert call(monkeypatch, game, "--out", "a.gif", *arguments) == 0
    assert lasts_ms("a.gif") == pytest.approx(min(seconds, 10) * 1000, abs=100)


def test_without_a_terminal_the_fight_is_told(game, monkeypatch, capsys):
    assert call(monkeypatch, game, "--terminal") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Player 1 (Fox) against CPU 3 (Mewtwo), Yoshi's Story, 0:10.0")
    assert "no terminal" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gen_7"], ["gen_7", "random"]),
        (["a", "b", "c"], ["two players", "3"]),
        (["random", "--seconds", "0"], ["--seconds", "at least one frame"]),
        (["random", "--seconds", "nan"], ["--seconds"]),
        (["random", "--from", "-1"], ["--from"]),
        (["random", "--seconds", "1", "--from", "1000"], ["the fight lasts"]),
        (["random", "--out", "a.webm"], [".webm", ".html"]),
        (["random", "--out", "a.gif", "--terminal"], ["choose one"]),
    ],
)
def test_mistakes_are_one_clear_line(run, monkeypatch, capsys, arguments, words):
    assert call(monkeypatch, run.path, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert [word for word in words if word not in line] == []


def test_a_run_without_generations(tmp_path, monkeypatch, capsys):
    create_run(tmp_path / "empty").write_run({})
    assert call(monkeypatch, tmp_path / "empty") == 2
    assert "no generation yet" in capsys.readouterr().err


def test_who_plays_in_a_replay_cannot_be_chosen(game, monkeypatch, capsys):
    assert call(monkeypatch, game, "random") == 2
    assert "cannot be chosen" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"{U\x03raw[$U#l\x00\x00", b"GIF89a"])
def test_what_is_no_replay(tmp_path, monkeypatch, capsys, content):
    path = tmp_path / "broken.slp"
    if content is not None:
        path.write_bytes(content)
    assert call(monkeypatch, path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "broken.slp" in line


def test_replays_of_people(tmp_path):
    files = sorted(REPLAYS.glob("[!E]*.slp"))
    if not files:
        pytest.skip(f"no replay files in {REPLAYS}")
    for file in files:
        result = commands.run("watch", file, "--seconds", 5, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        assert 50_000 < (tmp_path / f"{file.stem}.html").stat().st_size < 400_000
