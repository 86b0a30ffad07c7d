"""Every reader of what others hand over, each with a sound file to damage; a new reader is entered here."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scripts.studies import import_character
from selfplay.checkpoint import (
    RunDir,
    load_checkpoint,
    load_generation,
    load_latest_learner,
    save_learner,
)
from selfplay.checkpoint.documents import encode_meta
from selfplay.checkpoint.store import MANIFEST, open_folder
from selfplay.cli.game_type import game_of_line
from selfplay.cli.ppo import parse
from selfplay.commands.live_page import newest_game
from selfplay.commands.run_status import examine
from selfplay.dialogue.files.games import GAMES
from selfplay.dialogue.files.games import read_games as read_written
from selfplay.dialogue.files.parquet import from_parquet, to_parquet
from selfplay.dialogue.files.rows import COLUMNS, offline_rows
from selfplay.dialogue.files.settings import SETTINGS, read_settings
from selfplay.dialogue.files.table import read_table
from selfplay.dialogue.integrations.initial_states import initial_state
from selfplay.dialogue.language.folders import ADAPTER, CONFIG, base_name, check_folder
from selfplay.dialogue.language.footprint import config_of
from selfplay.dialogue.language.wire import InvalidResponse, decode
from selfplay.dialogue.models import ModelMeta, read_model, save_model
from selfplay.dialogue.partial import Partial, load_partial, partial_folder, save_partial
from selfplay.dialogue.report.transcripts import FILE_NAME as TRANSCRIPTS
from selfplay.dialogue.report.transcripts import read_transcripts
from selfplay.dialogue.supervised import SupervisedLearner
from selfplay.games.columns import NONE
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.imitation.folders import game_of_training
from selfplay.imitation.recorded_games import RecordedGames
from selfplay.league.anchors import read_table as read_anchors
from selfplay.league.anchors import shipped_tables
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.people_ledger import run_games
from selfplay.league.result_files import read_results
from selfplay.loopback import lasting_token
from selfplay.report.files import trim_metrics
from selfplay.report.health import Health
from selfplay.report.leaderboard_page.curves import training
from selfplay.report.leaderboard_page.growing import GrowingCurves
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay.report.tree_status import Crash, TreeStatus
from selfplay.run.monitoring.crash_file import append_crash, read_crashes
from selfplay.sweep.cells import Cell, CellFile, Folder, Measured, Started
from selfplay.sweep.plan import plan_of
from selfplay.sweep.settings import SweepSettings, read_sweep
from selfplay_melee.dolphin.disc import DISC_MAGIC, judge_disc
from selfplay_melee.play.games import PlayedGame, replay
from selfplay_melee.replay import read_replay
from selfplay_melee.replays.cache import Cache, format_key
from selfplay_melee.replays.library import Library
from selfplay_melee.tables import load_tables
from selfplay_melee.tables.read import read_character, read_stage
from tests.checkpoint.samples import CREATED, forge, learner_arrays, learner_meta, params, policy_meta, save_generation
from tests.dialogue.files.written import lines
from tests.dialogue.language.models import tiny
from tests.dialogue.report.talks import transcript
from tests.dialogue.writers import settings_of
from tests.league.pools import series
from tests.melee.commands.page_games import page_game
from tests.melee.slp_files import synthetic

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "envs" / "selfplay_melee" / "tables"
ITERATION = {"iteration": 1, "total_steps": 64, "wall": 1.0, "losses/entropy": 1.5, "runners/restarts": 0}


@dataclass(frozen=True)
class Reader:
    """A way in.

    ``make`` fills a folder and gives the file that is damaged; ``read`` is given the folder and that file. ``signed``:
    the file is in a folder with a manifest, which an attacker makes anew.
    ``names``: an error says which file it is about.
    """

    name: str
    modules: tuple[str, ...]  # whose reading this tests
    make: Callable[[Path], Path]
    read: Callable[[Path, Path], Any]
    signed: bool = False
    names: bool = True
    of_bytes: bool = False  # is handed what is in the file, and no path


def _file(name: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content())
        return path

    return make


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _generation(name: str) -> Callable[[Path], Path]:
    return lambda folder: save_generation(RunDir(folder), policy_meta(1), params()) / name


def _state(name: str) -> Callable[[Path], Path]:
    return lambda folder: save_learner(RunDir(folder), learner_meta(1), learner_arrays()) / name


def _model(folder: Path) -> Path:
    meta = ModelMeta(id="gen_1", game="matching", rules={"size": 4}, base="tiny", created=CREATED)
    return (
        save_model(folder / "model", meta, lambda place: (place / "a.safetensors").write_bytes(b"x")) / "selfplay.json"
    )


def _teaching() -> SupervisedLearner:
    return SupervisedLearner(tiny(), 2e-3, 1)


def _partial(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        learner = _teaching()
        best = {key: value.clone() for key, value in learner.network.state_dict().items()}
        how = Partial(read=1, seconds=1.0, losses=(1.0,), snapshots=(), made=0, done=0.0, taken=1)
        save_partial(folder / "model", how, learner, best, np.random.default_rng(0))
        learner.close()
        return partial_folder(folder / "model") / name

    return make


def _read_partial(folder: Path) -> None:
    learner = _teaching()
    try:
        load_partial(folder / "model", learner, np.random.default_rng(0))
    finally:
        learner.close()


def _weights(folder: Path, name: str, document: Any) -> Path:
    (folder / "adapter_model.safetensors").write_bytes(b"x")
    (folder / name).write_bytes(_json(document))
    return folder / name


def _ledger() -> bytes:
    rows = series([("gen_1", "random", "win"), ("random", "gen_1", "loss"), ("gen_2", "gen_1", "draw")])
    return "".join(f"{row.row()}\n" for row in rows).encode()


OWN_GAME = "tests.games.games:Nim"
allow(OWN_GAME)


def _recorded_games() -> bytes:
    line = {"game": OWN_GAME, "version": 1, "seed": 5, "players": ["a", "b"], "rewards": [-1.0, 1.0]}
    return (json.dumps({**line, "actions": [[2, 0], [0, 1], [0, 0], [0, 1]]}) + "\n").encode() * 2


def _games() -> bytes:
    return "".join(game.model_dump_json() + "\n" for game in lines(2, 2)).encode()


def _parquet() -> bytes:
    games = lines(2, 2)
    settings = settings_of("kuhn_text", games=len(games), games_per_state=2)
    return to_parquet(offline_rows(games, settings, "train"), COLUMNS, {"selfplay_games": "0" * 64})


def _crash() -> Crash:
    return Crash(
        time=CREATED, id="root/runner-000", incarnation=1, kind="error", started=True, restarts=0, lived_s=1.0,
        message="m", first_cause="c", file="f", line=1, function="g", traceback="t",
    )  # fmt: skip


def _standing() -> bytes:
    row = {"id": "root", "kind": "worker", "state": "running", "incarnation": 1, "restarts": 0, "since": CREATED,
           "until": None, "abandoned": 0, "crash": ""}  # fmt: skip
    found = TreeStatus(
        written=CREATED, began=CREATED, pid=1, ended=None, hanging=0, crashes=0, unwritten=0, rows=(row,)
    )
    return found.model_dump_json().encode()


def _replay() -> bytes:
    from selfplay_melee.slp.encode import encode

    return encode(synthetic(frames=12, version=(3, 18, 0)))


def _open_ledger(folder: Path, path: Path) -> None:
    Ledger.open(path).close()


def _run_ends(folder: Path, path: Path) -> None:
    records = RunRecords.of(folder)
    assert records.steps_per_iteration is None or records.steps_per_iteration > 0
    records.health(Health())
    assert all(first <= last for first, last in records.gaps)
    training(records, NONE)
    assert isinstance(records.ended, bool)


def _grow(folder: Path, path: Path) -> None:
    curves = GrowingCurves(path, NONE)
    for _ in range(2):
        curves.read(Health())
        json.dumps(curves.changes(""), allow_nan=False)


def _key(folder: Path) -> Path:
    lasting_token(folder / "cache", "a run")
    return folder / "cache" / "page_key"


def _trim(folder: Path, path: Path) -> None:
    trim_metrics(path, 1)


def _library(folder: Path, path: Path) -> None:
    library = Library(folder / "games", 4, 0, folder / "cache")
    library.scan()
    for game in library.games:
        library.load(game)


def _cache_entry(folder: Path, path: Path) -> None:
    cache = Cache(folder / "cache", format_key(4, 0, load_tables()))
    for entry in (folder / "cache").glob("*/*"):
        cache.note(entry.name)
        cache.examples(entry.name)
    cache.known_files(folder / "games")


def _filled_cache(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        _recorded(folder)
        Library(folder / "games", 4, 0, folder / "cache").scan()
        return next((folder / "cache").glob(name))

    return make


def _recorded(folder: Path) -> Path:
    from tests.melee.replays.replay_folders import write_game

    path = folder / "games" / "a.slp"
    return path if path.exists() else write_game(path, frames=40)  # which would be of another moment


def _config(folder: Path, path: Path) -> None:
    game_of_line(["--config", str(path)])
    parse(["--config", str(path)])


def _state_row() -> dict[str, Any]:
    from dataclasses import asdict

    from selfplay.dialogue.find import find_dialogue

    entry = find_dialogue("matching")
    rules = entry.rules(size=3)
    game = entry.start(rules, entry.states(rules, [1])[0])
    return {
        "data_source": "matching_game_selfplay", "game_id": "a", "game_state": json.dumps(game.record()),
        "game_rules": json.dumps(asdict(rules)),
    }  # fmt: skip


def _beginning(folder: Path, path: Path) -> None:
    try:
        row = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        row = {**_state_row(), "game_state": path.read_bytes().decode(errors="replace")}
    if isinstance(row, dict):
        initial_state(row)


def _answer(folder: Path, path: Path) -> None:
    with suppress(InvalidResponse):
        decode(path.read_bytes())


def _dump() -> bytes:
    """Every part of a move dump that the importer looks at."""
    figures = {"damage": 4, "angle": 70, "kbGrowth": 100, "baseKb": 5, "weightDepKb": 0, "element": "normal"}
    hits = {"hitFrames": [{"start": 2, "end": 3, "hitboxes": [0]}], "hitboxes": [figures]}
    throw = {"totalFrames": 9, "throw": {**figures, "element": 12}, **hits}
    return _json({"jab1": {"totalFrames": 6, "iasa": 5, **hits}, "nair": {"totalFrames": 6, **hits}, "uthrow": throw})


def _imported(folder: Path, path: Path) -> None:
    (folder / "fox.toml").write_bytes((TABLES / "characters" / "fox.toml").read_bytes())
    (folder / "frames.csv").write_text("character,action,frame\n")
    words = ["fox", "--moves", str(path), "--frames", str(folder / "frames.csv"), "--folder", str(folder), "--check"]
    if import_character.main(words) == 2:
        raise GameError("see standard error")


SWEEP = b"game_type = 'rps'\ntimesteps = 64\nseeds = [0]\n[settings]\nppo.epochs = [1, 2]\nppo.gamma = [0.5]\n"
ASKED = SweepSettings(game_type="rps", timesteps=64, seeds=(0,), settings={"ppo": {"epochs": [1, 2]}})
MEASURED = (Measured(share=1.0, strength=-0.5, seconds=3.0, policy="gen_2"),)
READERS = (
    Reader(
        "a manifest", ("selfplay.checkpoint.store",), _generation(MANIFEST), lambda f, p: open_folder(p.parent).verify()
    ),
    Reader(
        "policy.json",
        ("selfplay.checkpoint.generations", "selfplay.checkpoint.documents"),
        _generation("policy.json"),
        lambda f, p: load_checkpoint(p.parent),
        signed=True,
    ),
    Reader(
        "parameters",
        ("selfplay.checkpoint.tensors",),
        _generation("params.safetensors"),
        lambda f, p: load_generation(p.parent),
        signed=True,
    ),
    Reader(
        "learner.json",
        ("selfplay.checkpoint.learner_state",),
        _state("learner.json"),
        lambda f, p: load_latest_learner(RunDir(f)),
        signed=True,
    ),
    Reader(
        "the document of an interrupted teaching",
        ("selfplay.dialogue.partial",),
        _partial("state.json"),
        lambda f, p: _read_partial(f),
        signed=True,
    ),
    Reader(
        "the weights of an interrupted teaching",
        (),
        _partial("state.safetensors"),
        lambda f, p: _read_partial(f),
        signed=True,
    ),
    Reader(
        "run.json",
        ("selfplay.checkpoint.run_dir",),
        _file("run.json", lambda: _json({"config": {"game": {}}})),
        lambda f, p: RunDir(f).read_run(),
    ),
    Reader(
        "tree.json",
        ("selfplay.commands.run_status",),
        _file("tree.json", _standing),
        lambda f, p: examine(RunDir(f), 3),
    ),
    Reader(
        "crashes.jsonl",
        ("selfplay.run.monitoring.crash_file",),
        _file("crashes.jsonl", lambda: f"{_crash().model_dump_json()}\n".encode() * 3),
        lambda f, p: read_crashes(p, 9),
    ),
    Reader(
        "a line of crashes.jsonl",
        ("selfplay.run.monitoring.crash_file",),
        _file("crashes.jsonl", lambda: f"{_crash().model_dump_json()}\n".encode()),
        lambda f, p: append_crash(p, _crash()),
    ),
    Reader(
        "best.json",
        ("selfplay.checkpoint.run_dir",),
        _file("best.json", lambda: _json({"best": "gen_1"})),
        lambda f, p: RunDir(f).read_best(),
    ),
    Reader(
        "selfplay.json of a model",
        ("selfplay.dialogue.models",),
        _model,
        lambda f, p: read_model(p.parent),
        signed=True,
    ),
    Reader(
        "an adapter",
        ("selfplay.dialogue.language.folders",),
        lambda f: _weights(
            f, ADAPTER, {"peft_type": "LORA", "r": 8, "base_model_name_or_path": "x", "auto_mapping": None}
        ),
        lambda f, p: (check_folder(f, str(f)), base_name(f)),
    ),
    Reader(
        "config.json of a model, before it is loaded",
        ("selfplay.dialogue.language.footprint",),
        lambda f: _weights(f, CONFIG, {"num_hidden_layers": 2, "model_type": "qwen2"}),
        lambda f, p: config_of(str(f)),
    ),
    Reader(
        "config.json of a model",
        ("selfplay.dialogue.language.folders",),
        lambda f: _weights(f, CONFIG, {"num_hidden_layers": 2, "text_config": {"num_experts": 4}, "model_type": "x"}),
        lambda f, p: check_folder(f, str(f)),
    ),
    Reader(
        "a ledger",
        ("selfplay.league.ledger", "selfplay.league.games"),
        _file("ledger.jsonl", _ledger),
        lambda f, p: read_games(p).comparable(),
    ),
    Reader(
        "a ledger's records",
        ("selfplay.league.ledger",),
        _file("ledger.jsonl", _ledger),
        lambda f, p: list(read_records(p)),
    ),
    Reader(
        "a ledger of people",
        ("selfplay.league.people_ledger",),
        _file("people.jsonl", lambda: _ledger().replace(b'"random"', b'"person-anna"').split(b"\n", 2)[0]),
        lambda f, p: run_games(f).comparable(),
    ),
    Reader("a ledger to write to", ("selfplay.league.ledger",), _file("ledger.jsonl", _ledger), _open_ledger),
    Reader(
        "a game of the play page",
        ("selfplay_melee.play.games", "selfplay_melee.commands.cli.play"),
        _file("game.json", lambda: _json(page_game())),
        lambda f, p: replay(PlayedGame.read(p), p.name),
    ),
    Reader(
        "anchors",
        ("selfplay.league.anchors",),
        _file("anchors.json", lambda: shipped_tables()[0].read_bytes()),
        lambda f, p: read_anchors(p),
    ),
    Reader(
        "games of others",
        ("selfplay.league.result_files",),
        _file("games.csv", lambda: b"first,second,score\na,b,1\n"),
        lambda f, p: read_results(p),
    ),
    Reader(
        "payoffs of others",
        ("selfplay.league.result_files",),
        _file("games.csv", lambda: b"player_1;player_2;reward_1;reward_2\na;b;1,5;-1,5\nb;a;2;-2\n"),
        lambda f, p: read_results(p),
    ),
    Reader(
        "games of others as JSON lines",
        ("selfplay.league.result_files",),
        _file("games.jsonl", lambda: _json({"first": "a", "second": "b", "score": 0.5, "pair": 3}) + b"\n"),
        lambda f, p: read_results(p),
    ),
    Reader(
        "games of others as PGN",
        ("selfplay.league.result_files",),
        _file("games.pgn", lambda: b'[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 {x} 1-0\n'),
        lambda f, p: read_results(p),
    ),
    Reader(
        "a run for its page",
        ("selfplay.report.leaderboard_page.records",),
        _file("metrics.jsonl", lambda: _json(ITERATION) + b"\n"),
        _run_ends,
    ),
    Reader(
        "metrics of a run that goes on",
        ("selfplay.report.leaderboard_page.growing",),
        _file("metrics.jsonl", lambda: _json(ITERATION) + b"\n"),
        _grow,
    ),
    Reader(
        "the newest game of a ledger",
        ("selfplay.commands.live_page",),
        _file("ledger.jsonl", _ledger),
        lambda f, p: newest_game(p, lambda game: ""),
    ),
    Reader("a key of addresses", ("selfplay.loopback",), _key, lambda f, p: lasting_token(p.parent, "a run")),
    Reader(
        "its summary",
        ("selfplay.report.leaderboard_page.records",),
        _file("summary.json", lambda: _json({"iteration": 1, "health": [{"name": "a", "text": "b"}]})),
        _run_ends,
    ),
    Reader(
        "metrics to go on with",
        ("selfplay.report.files",),
        _file("metrics.jsonl", lambda: _json(ITERATION) + b"\n"),
        _trim,
    ),
    Reader(
        "transcripts",
        ("selfplay.dialogue.report.transcripts",),
        _file(TRANSCRIPTS, lambda: transcript().row().encode() + b"\n"),
        lambda f, p: read_transcripts(f),
    ),
    Reader("a replay", ("selfplay_melee.replay",), _file("a.slp", _replay), lambda f, p: read_replay(p)),
    Reader("a folder of replays", ("selfplay_melee.replays.library",), _recorded, _library),
    Reader(
        "the settings of a training by imitation",
        ("selfplay.imitation.folders",),
        _file("imitation.json", lambda: _json({"config": {"data": {"game": "kuhn"}}})),
        lambda f, p: game_of_training(RunDir(f)),
    ),
    Reader(
        "recorded games",
        ("selfplay.imitation.recorded_games",),
        _file("games.jsonl", _recorded_games),
        lambda f, p: RecordedGames(p, OWN_GAME).scan(),
    ),
    Reader(
        "a cache's note", ("selfplay_melee.replays.cache",), _filled_cache("*/*/game.json"), _cache_entry, signed=True
    ),
    Reader("a cache's list", ("selfplay_melee.replays.cache",), _filled_cache("files-*.json"), _cache_entry),
    Reader("written games", ("selfplay.dialogue.files.games",), _file(GAMES, _games), lambda f, p: read_written(p)),
    Reader(
        "their settings",
        ("selfplay.dialogue.files.settings",),
        _file(SETTINGS, lambda: settings_of("kuhn_text").model_dump_json().encode()),
        lambda f, p: read_settings(f),
    ),
    Reader(
        "a table",
        ("selfplay.dialogue.files.table", "selfplay.dialogue.files.parquet"),
        _file("train.parquet", _parquet),
        lambda f, p: read_table(p),
    ),
    Reader(
        "a table of states",
        ("selfplay.dialogue.files.parquet",),
        _file("train.parquet", _parquet),
        lambda f, p: from_parquet(p, ["data_source", "messages"]),
    ),
    Reader(
        "a row of states",
        ("selfplay.dialogue.integrations.initial_states",),
        _file("row.json", lambda: _json(_state_row())),
        _beginning,
        names=False,
        of_bytes=True,
    ),
    Reader(
        "a server's answer",
        ("selfplay.dialogue.language.wire",),
        _file("answer.json", lambda: _json({"text": "a"})),
        _answer,
        names=False,
        of_bytes=True,
    ),
    Reader(
        "settings in TOML",
        ("selfplay.config.program", "selfplay.cli.game_type"),
        _file("run.toml", lambda: b'[run]\nseed = 5\n[game]\ncharacter = "fox"\n'),
        _config,
        names=False,
    ),
    Reader(
        "the file of a sweep",
        ("selfplay.config.program",),
        _file("sweep.toml", lambda: SWEEP),
        lambda f, p: plan_of(read_sweep(p), p),
    ),
    Reader(
        "sweep.json",
        ("selfplay.sweep.cells",),
        _file("sweep.json", lambda: encode_meta(Started(asked=ASKED, settings=({"ppo.epochs": 1},)), Path("a"))),
        lambda f, p: Folder(f, ASKED),
    ),
    Reader(
        "cell.json",
        (),
        _file(
            "cell.json", lambda: encode_meta(CellFile(values={"ppo.epochs": 1}, seed=0, measured=MEASURED), Path("a"))
        ),
        lambda f, p: Cell(f, 0, {}, 0).read(),
    ),
    Reader(
        "a character",
        ("selfplay_melee.tables.row",),
        _file("fox.toml", lambda: (TABLES / "characters" / "fox.toml").read_bytes()),
        lambda f, p: read_character(p),
    ),
    Reader(
        "a stage",
        ("selfplay_melee.tables.row",),
        _file("battlefield.toml", lambda: (TABLES / "stages" / "battlefield.toml").read_bytes()),
        lambda f, p: read_stage(p),
    ),
    Reader(
        "a move dump",
        ("scripts.studies.import_character", "selfplay_melee.tables.importer"),
        _file("moves.json", _dump),
        _imported,
        names=False,
    ),
    Reader(
        "a disc",
        ("selfplay_melee.dolphin.disc",),
        _file("melee.iso", lambda: b"GALE01\0\2".ljust(28, b"\0") + DISC_MAGIC + bytes(4096)),
        lambda f, p: judge_disc(p, hash_it=False),
    ),
)


def put(reader: Reader, folder: Path, path: Path, data: bytes) -> None:
    """Exchange the file's content, as somebody would who knows how a manifest is made."""
    if not path.exists():  # a cache removes what is bad
        reader.make(folder)
    if reader.signed:
        forge(path.parent, **{path.name.replace(".", "__"): data})
    else:
        path.write_bytes(data)
