"""Games of a model with itself, in a file."""

import math
import sys

import pytest

from selfplay.dialogue import players
from selfplay.dialogue.files import generation
from selfplay.dialogue.files.games import GAMES, read_games
from selfplay.dialogue.files.generation import PREVIOUS, generate, play
from selfplay.dialogue.files.rows import TRAIN, VAL, convert
from selfplay.dialogue.files.settings import SETTINGS, read_settings
from selfplay.dialogue.language.loading import load_model
from selfplay.dialogue.language.wire import SGLang
from selfplay.dialogue.programs import ServerProgram
from selfplay.errors import ConfigError, RunnerError, ServerError
from tests.dialogue.language import stub_server
from tests.dialogue.language.stub_server import SGLANG, TEXT, Stub
from tests.dialogue.language.taught import passes_or_bets
from tests.dialogue.models import model_folder, untaught
from tests.dialogue.writers import settings_of


@pytest.fixture
def settings(tmp_path):
    model = model_folder(tmp_path / "model")
    return settings_of("kuhn_text", model=str(model), games=11, games_per_state=4, exp_name="mine", temperature=0.9)


def generated(folder, settings, *, resume=False):
    told = []
    generate(folder, settings, "cpu", resume, told.append)
    return told


def test_so_many_games_on_so_many_states(tmp_path, settings):
    told = generated(tmp_path / "out" / "put", settings)
    folder = tmp_path / "out" / "put"
    assert told[0] == "Playing 11 games of kuhn_text: 2 states x 4, 1 states x 3"
    games, _ = read_games(folder / GAMES)
    assert [(game.index, game.replica) for game in games] == [(i, r) for i, n in enumerate((4, 4, 3)) for r in range(n)]
    assert len({game.seed for game in games}) == 11
    cards = {game.index: game.game_state["cards"] for game in games}
    for game in games:
        assert (game.exp_name, game.model, game.sampling) == ("mine", settings.model, settings.sampling)
        assert game.game_state["cards"] == cards[game.index]
    assert read_settings(folder) == settings
    assert any(game.instances() for game in games)


def test_states_follow_from_seed_iteration_and_number(settings):
    model = untaught()

    def cards(changed):
        return [game.game_state["cards"] for game in play(changed, [1] * 12, model, lambda line: None)]

    assert cards(settings) == cards(settings)
    assert cards(settings.model_copy(update={"iteration": 1})) != cards(settings)
    assert cards(settings.model_copy(update={"seed": 9})) != cards(settings)


def test_earlier_files_move_and_other_settings_do_not_mix(tmp_path, settings):
    folder = tmp_path / "out"
    for _ in range(2):
        generated(folder, settings)
        convert(folder, states=False, resume=False, notice=lambda line: None)
    first = (folder / GAMES).read_bytes()
    generated(folder, settings.model_copy(update={"seed": 9}))
    assert sorted(path.name for path in (folder / PREVIOUS).iterdir()) == sorted((GAMES, SETTINGS, TRAIN, VAL))
    assert (folder / PREVIOUS / GAMES).read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == sorted((GAMES, SETTINGS, PREVIOUS))


def test_resume_keeps_finished_games_redoes_half_written_ones_and_refuses_others(tmp_path, settings):
    folder = tmp_path / "out"
    generated(folder, settings)
    before = (folder / GAMES).stat().st_mtime_ns
    assert generated(folder, settings, resume=True) == [f"{folder}: its 11 games exist"]
    assert (folder / GAMES).stat().st_mtime_ns == before
    other = settings.model_copy(update={"exp_name": "other"})
    with pytest.raises(ConfigError, match="was made with exp_name mine, not other"):
        generated(folder, other, resume=True)
    (folder / SETTINGS).unlink()
    assert len(generated(folder, other, resume=True)) > 1
    assert read_settings(folder) == other
    assert not (folder / PREVIOUS).exists()


@pytest.mark.parametrize("broken", [2, 8])
def test_games_that_raise_are_left_out_and_told(settings, monkeypatch, broken):
    fixtures = generation._specs

    def some_broken(settings, part, writer):
        made = fixtures(settings, part, writer)
        for fixture in made[:broken]:
            fixture.game.observe = None  # calling it raises
        return made

    monkeypatch.setattr(generation, "_specs", some_broken)
    told = []
    if broken == 8:
        with pytest.raises(RunnerError, match="8 of 8 games failed"):
            play(settings, [4, 4], untaught(), told.append)
        return
    games = play(settings, [4, 4], untaught(), told.append)
    assert [(game.index, game.replica) for game in games] == [(0, 2), (0, 3), *((1, i) for i in range(4))]
    assert told[-1].startswith("2 of 8 games failed and are left out; 3-0-0-0: TypeError")


def test_a_folder_that_cannot_be(tmp_path, settings):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write to"):
        generated(tmp_path / "file" / "out", settings)


def served(settings, **server):
    return settings_of(
        "kuhn_text", model=settings.model, games=8, games_per_state=4, **{f"server_{n}": v for n, v in server.items()}
    )


@pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
@pytest.mark.parametrize("kind", [SGLANG, TEXT])
def test_a_server_writes_the_replies_and_without_its_probabilities_the_model_scores_them(tmp_path, settings, kind):
    with Stub(kind, passes_or_bets(load_model(settings.model).chat), logprobs=kind == SGLANG) as stub:
        wanted = served(settings, url=stub.url)
        generated(tmp_path / "out", wanted)
        assert len(stub.bodies) >= 16
    assert read_settings(tmp_path / "out") == wanted
    games, _ = read_games(tmp_path / "out" / GAMES)
    logprobs = [one for game in games for tokens in game.tokens for one in tokens.logprob]
    assert all(map(math.isfinite, logprobs))
    assert (set(logprobs) == {-0.7}) == (kind == SGLANG)


@pytest.mark.full
@pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
def test_a_program_serves_until_the_games_have_ended(tmp_path, settings, monkeypatch):
    command = (sys.executable, stub_server.__file__, "{folder}", "{port}")
    program = ServerProgram("stub", command, SGLang())
    monkeypatch.setattr(players, "find_program", lambda name: program)
    end = load_model(settings.model).chat.end
    (tmp_path / "model" / "reply").write_bytes(b"." * end)
    wanted = settings_of("kuhn_text", model=settings.model, games=8, games_per_state=4, server="sglang")
    generated(tmp_path / "out", wanted)
    assert (tmp_path / "out" / players.SERVER_LOG).read_text().startswith(f"serving {settings.model} ")
    assert len(read_games(tmp_path / "out" / GAMES)[0]) == 8
    failing = settings_of(
        "kuhn_text", model=settings.model, games=8, games_per_state=4, server="sglang", server_args="--fail"
    )
    with pytest.raises(ServerError, match="out of memory"):
        generated(tmp_path / "none", failing)
