"""``selfplay play``: its browser, ``--add``, play pages beside the leaderboard page, and the gallery."""

import json
import re
import sys

import pytest

from scripts.studies import gallery
from selfplay.checkpoint import list_generations
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.league.ledger import Ledger, read_records
from selfplay.loopback import opening_file
from selfplay_melee.bot_names import REACTION
from selfplay_melee.commands.cli import play
from selfplay_melee.commands.cli.play import login_name
from selfplay_melee.play import home
from selfplay_melee.play.added_games import games_folder
from selfplay_melee.play.content import play_content
from selfplay_melee.play.hosting import keeper
from selfplay_melee.play_page import page
from tests.league.pools import series
from tests.melee.commands.page_games import page_game
from tests.melee.commands.test_added_games import kept, run  # noqa: F401  (a fixture)
from tests.run.policies import save, save_imitation
from tests.scripts import commands
from tests.scripts.commands import ROOT


def saved(folder, *games):
    paths = [folder / f"{number}.json" for number in range(len(games))]
    for path, game in zip(paths, games, strict=True):
        path.write_text(json.dumps(game))
    return paths


def test_games_that_a_page_saved_are_added_to_a_run(run, tmp_path):  # noqa: F811
    changed = page_game(name="Ada", seed=9)
    changed["checksums"][0] ^= 1
    first, other, third = saved(tmp_path, page_game(name="Ada"), changed, page_game(name="Ada", seed=8))
    done = commands.run("play", run.path, "--add", first, other, third, cwd=tmp_path)
    assert done.returncode == 2  # of one
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(first), str(third)]
    assert "ada is rated" in lines[0]
    assert lines[1].endswith("2 games.")
    assert done.stderr.startswith(f"selfplay play: {other}: the game, played again, is another game")
    assert len(list(read_records(run.people))) == 2
    assert len(kept(run)) == 4


def test_nothing_is_added_if_a_file_is_no_game(run, tmp_path):  # noqa: F811
    first, other = saved(tmp_path, page_game(name="Ada"), {"format": 1})
    done = commands.run("play", run.path, "--add", first, other, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"selfplay play: {other}")
    assert kept(run) == []


def test_a_replay_is_told_to_be_none(run, tmp_path):  # noqa: F811
    (tmp_path / "game.slp").write_bytes(b"{U")
    done = commands.run("play", run.path, "--add", tmp_path / "game.slp", "--name", "Ada", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a Slippi replay" in done.stderr
    assert "add the .json file" in done.stderr


def test_games_against_a_policy_are_kept_beside_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_imitation(tmp_path / "policy", opponent_character="marth")
    (game,) = saved(tmp_path, page_game(name="Ada"))
    folder = games_folder(None)
    assert folder == CHECKPOINTS / "people" / "games"
    said = keeper(None, lambda line: None)(game.read_bytes())
    assert said["rated"] is False
    assert len(list(folder.iterdir())) == 2


def test_pages_cannot_play_every_kind(tmp_path):
    save_imitation(tmp_path / "policy", "mamba")
    done = commands.run("play", tmp_path / "policy", "--no-open", "--out", tmp_path / "page.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "is a policy of kind mamba, which plays in a browser only through a server" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_run_is_looked_for_once(run, tmp_path, monkeypatch):  # noqa: F811
    looked = []
    monkeypatch.setattr(home, "list_generations", lambda run: looked.append(run) or list_generations(run))
    monkeypatch.setattr(play, "content_of", lambda *_: None)
    monkeypatch.setattr(page, "play_page", lambda _: "a page")
    done = commands.run("play", run.path, "--no-open", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (run.path / "play.html").read_text() == "a page"
    assert len(looked) == 1


def test_an_interval_is_open_on_the_page_where_the_games_set_no_end(tmp_path):
    saved = save(tmp_path / "run", 0, 20)
    with Ledger.open(saved.ledger) as ledger:
        ledger.append(series([("gen_20", "random", "win"), ("random", "gen_0", "win")]))
    shown = {one.label: one.interval for one in play_content(home.home_of(saved.path)).opponents}
    assert [end is None for end in (*shown["gen_20"], *shown["gen_0"])] == [False, True, True, False]


def test_a_page_knows_which_games_are_rated(run):  # noqa: F811
    subject = home.home_of(run.path)
    made = play_content(subject, max_episode_frames=150)
    assert {**made.rated, "scale": None} == {"characters": ["fox", "marth"], "stage": "battlefield", "scale": None}
    assert {one.id for one in made.opponents if not one.rated} == {"idle"}
    assert play_content(subject).rated is None  # its policies were trained with shorter games
    run.write_run({"config": {"game": {"unknown": 1}}})
    assert play_content(subject, max_episode_frames=150).rated is None


def test_the_weakest_rated_opponent_but_random_comes_first_and_games_of_shipped_policies_are_rated_on_their_page():
    made = play_content(home.home_of(None, "strong"))
    rated = {one.id: one.elo for one in made.opponents if one.rated}
    assert made.defaults["opponent"] == sorted(rated, key=rated.get)[1] == "walker"
    assert {"weak", "medium", "strong", "expert"} < set(rated)
    assert made.rated["stage"] == made.defaults["stage"]


def test_the_page_of_shipped_policies_with_a_reaction_has_all_rungs_and_begins_with_the_first():
    made = play_content(home.home_of(None))
    rungs = [one for one in made.opponents if one.group == "Trained"]
    assert [one.id for one in rungs] == ["champion", "veteran", "advanced", "regular", "casual", "novice"]
    assert all(one.delay == REACTION and one.rated for one in rungs)
    assert made.defaults == {"opponent": "novice", "characters": ["marth", "marth"], "stage": "final_destination"}


@pytest.mark.parametrize(("login", "name"), [("ada", "ada"), ("ада", "me"), ("x" * 40, "x" * 24), (OSError(), "me")])
def test_a_person_is_called_as_the_login(monkeypatch, login, name):
    def getuser():
        if isinstance(login, Exception):
            raise login
        return login

    monkeypatch.setattr(play.getpass, "getuser", getuser)
    assert login_name() == name


def test_the_file_that_opens_the_browser_is_the_users_alone_and_goes(tmp_path):
    address = "http://127.0.0.1:1/token/"
    with opening_file(address, tmp_path / "people") as path:
        assert address in path.read_text()
        assert path.stat().st_mode & 0o077 == 0
    assert list((tmp_path / "people").iterdir()) == []


def test_the_keys_in_the_document_are_those_of_the_page():
    script = (ROOT / "envs/selfplay_melee/play_page/view/keyboard.js").read_text()
    codes = re.search(r"KEY_DEFAULTS = \{(.*?)\};", script, re.DOTALL)[1]
    page = (ROOT / "docs/melee/play.md").read_text()
    table = next(part for part in page.split("\n\n") if part.startswith("| | key |"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    shown = [key for row in rows for cell in (row[1], row[3]) for key in cell.split(", ")]
    names = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓", "ShiftLeft": "Shift"}
    keys = [names.get(code, code.removeprefix("Key")) for code in re.findall(r'"(\w+)"', codes)]
    assert sorted(shown) == sorted(keys)


@pytest.mark.full
@pytest.mark.parametrize(("found", "told"), [(True, False), (False, True)])
def test_the_page_is_opened_where_there_is_a_browser(tmp_path, monkeypatch, capsys, found, told):
    page, opened = tmp_path / "my page.html", []
    monkeypatch.setattr(sys, "argv", ["selfplay play", "champion", "--out", str(page)])
    monkeypatch.setattr(play.webbrowser, "open", lambda address: opened.append(address) or found)
    assert play.main() == 0
    assert opened == [page.as_uri()]
    assert page.stat().st_size < 1_200_000  # with six policies
    assert ("No browser was found" in capsys.readouterr().out) == told


@pytest.mark.full
def test_play_pages_beside_the_leaderboard_page(run, tmp_path):  # noqa: F811
    done = commands.run("leaderboard", run.path, "--html", tmp_path / "my board.html", "--play", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pages = sorted(path.name for path in (tmp_path / "my board_play").iterdir())
    assert pages == ["gen_10.html"]  # gen_0 has no rated game
    assert '<a href="my%20board_play/gen_10.html">play</a>' in (tmp_path / "my board.html").read_text()
    assert ", and 1 play page in my board_play (" in done.stdout
    assert (tmp_path / "my board_play/gen_10.html").stat().st_size < 1_200_000


@pytest.mark.full
def test_a_gallery_is_a_folder_for_any_host(run, tmp_path):  # noqa: F811
    *pages, index = gallery.build(str(run.path), tmp_path / "gallery")
    assert [path.name for path in pages] == ["gen_0.html", "gen_10.html"]
    assert index == tmp_path / "gallery" / "index.html"
    text = index.read_text()
    assert all(f'<a href="{path.name}">' in text for path in pages)
    assert "default-src 'none'" in text


def test_a_page_has_no_login(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada-login")
    for words, name in (([], ""), (["--serve"], ""), (["--name", "Ada"], "Ada")):
        options = play.parser().parse_args(["strong", *words])
        content = play.content_of(options, play.check(options))
        assert content.person == name
        assert "ada-login" not in repr(content)
