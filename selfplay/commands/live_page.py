"""The live page of a run: a server that reads the run's files when a page asks what changed.

It neither writes to the run nor asks the trainer, so it works beside a training, after a crash, and when the training
resumes. Without an open page it does nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from pydantic import ValidationError

from selfplay.checkpoint import RunDir
from selfplay.checkpoint.run_dir import modified_ns
from selfplay.commands.leaderboard_page import show_of, training_name
from selfplay.commands.notable_games import Ended, Notable, outcome
from selfplay.commands.run_status import NEWEST, examine
from selfplay.config.resume import type_in
from selfplay.errors import SelfPlayError
from selfplay.games.errors import GameError
from selfplay.games.files import opened, user_cache
from selfplay.games.registry import DEFAULT
from selfplay.league.leaderboard import analyse
from selfplay.league.people_ledger import run_games
from selfplay.league.records import GameRecord, generation_number
from selfplay.loopback import LoopbackHandler, LoopbackServer, Refused, lasting_token
from selfplay.report.leaderboard_page.facts import paragraphs
from selfplay.report.leaderboard_page.growing import GrowingCurves
from selfplay.report.leaderboard_page.live import board_part, live_page
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay.report.leaderboard_page.tree import tree_section
from selfplay.run.trainings import find_training
from selfplay.verbs import quoted, respelled

if TYPE_CHECKING:
    from selfplay.report.leaderboard_page.records import JsonRow
    from selfplay.report.tree_status import RunStatus

PORT: Final = 8466
SHARE: Final = 0.0015  # of this machine's processors, at most, for each part that takes long
SILENT_S: Final = 30.0  # a trainer writes something every 10 seconds
TAIL: Final = 2**16  # bytes at the end of the ledger in which the newest game is looked for
NO_RATINGS: Final = "No game is rated yet: training with --track-elo rates some."
_FIELDS: Final = 16  # of a request


class LiveServer(LoopbackServer):
    """Serves the page of one run."""

    def __init__(self, folder: Path, port: int) -> None:
        """Open the port; ConfigError if it cannot be used, CheckpointError if the run cannot be read."""
        self.run = LiveRun(folder)
        cache = user_cache()
        super().__init__(_Handler, port, token=None if cache is None else lasting_token(cache, str(folder.resolve())))
        self.page = self.run.page().encode()

    def server_close(self) -> None:
        super().server_close()
        self.run.close()


class _Handler(LoopbackHandler):
    server: LiveServer

    def do_GET(self) -> None:
        self.answer({"": self.page, "changes": self._changes})

    def _changes(self, query: str) -> tuple[str, bytes]:
        self.body(0)
        try:
            known = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=_FIELDS))
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "names and values of parts are needed") from None
        return "application/json", self.server.run.changes(known)


class LiveRun:
    """Finds what has changed in a run since a page's last request."""

    def __init__(self, folder: Path) -> None:
        self._run = RunDir(folder)
        self._document = self._run.read_run()
        self._game = type_in(self._document.get("config")) or DEFAULT
        self._view_of = find_training(training_name(self._game, self._document.get("config"))).view
        view = self._view_of(folder, self._game)
        self._show = None if view.reading is not None else show_of(self._game)
        self._monitor = view.health
        self._curves = GrowingCurves(self._run.metrics, view.columns)
        self._tree, self._health = _Part(), _Part()
        self._reading = _Part((self._run.metrics,), self._games_to_read)
        self._slow = {
            "board": _Part((self._run.ledger, self._run.people), self._board),
            "game": _Part((self._run.ledger,), self._newest_game),
        }
        self._shown = ""  # match id of the game that is shown
        self._lock = threading.Lock()
        self._maker: threading.Thread | None = None

    def page(self) -> str:
        snapshot = respelled(f"selfplay leaderboard {quoted(self._run.path)} --html page.html")
        return live_page(self._run.path.resolve().name, snapshot, None if self._show is None else self._show.part)

    def changes(self, known: Mapping[str, str]) -> bytes:
        """The answer to a page that has these parts, see ``selfplay.report.leaderboard_page.live``."""
        with self._lock:
            self._curves.read(self._monitor)
            status = self._look()
            parts = {"tree": self._tree, "health": self._health, "reading": self._reading, **self._slow}
            if self._show is None:
                del parts["game"]
                self._reading.make_if_due()
            self._make_slow_parts([part for name, part in parts.items() if name in self._slow])
            changed = [
                f'"{name}":{{"at":"{part.at}","content":{part.content}}}'
                for name, part in parts.items()
                if part.at and part.at != known.get(name)
            ]
            points = self._curves.changes(known.get("training", ""))
        if points is not None:
            changed.append(f'"training":{_json({"at": points.pop("at"), "content": points})}')
        return f'{{"status":{_json(status)},"parts":{{{",".join(changed)}}}}}'.encode()

    def close(self) -> None:
        """Wait for the part that is being made."""
        if self._maker is not None:
            self._maker.join()

    def _look(self) -> dict[str, str]:
        run = self._run
        written = max(modified_ns(path) for path in (run.metrics, run.tree_json, run.ledger, run.log))
        silent_s = max(time.time() - written / 1e9, 0.0)
        self._health.show({"html": paragraphs([found.text for found in self._monitor.findings()], "warning")})
        try:
            found = examine(run, NEWEST)
        except SelfPlayError as error:
            return {"state": "silent", "text": f"{error}.", "figures": figures(self._curves.last, silent_s)}
        self._tree.show({"html": tree_section(found)})
        state, text = described(found, silent_s)
        return {"state": state, "text": text, "figures": figures(self._curves.last, silent_s)}

    def _make_slow_parts(self, parts: Sequence[_Part]) -> None:
        """Make them in a thread, one after the other; a part of which that fails is made again for newer files."""
        if any(part.is_due() for part in parts) and (self._maker is None or not self._maker.is_alive()):
            self._maker = threading.Thread(target=_make_all, args=(parts,), name="live page")
            self._maker.start()

    def _games_to_read(self) -> dict[str, Any]:
        return {"html": self._view_of(self._run.path, self._game).newest}

    def _board(self) -> dict[str, Any]:
        try:
            games = run_games(self._run.path)
            board = analyse(games, run=self._run.path).board if len(games) else None
        except SelfPlayError as error:
            return {"none": f"No ratings: {error}"}
        records = RunRecords(self._document, {}, (self._curves.last,) if self._curves.last else ())
        return {"none": NO_RATINGS} if board is None else board_part(board, records.steps_per_iteration)

    def _newest_game(self) -> dict[str, Any] | None:
        if self._show is None:
            return None
        try:
            game = newest_game(self._run.ledger, self._show.ended)
            if game is None:
                return {"why": NO_RATINGS}
            if game.match == self._shown:
                return None
            ended = self._show.ended(game) or ", unfinished"
            why = f"{outcome(game, ended)}. Rated after iteration {game.iteration}."
            replay = self._show.replayer(self._run)(Notable("Newest game", why, game))
        except (SelfPlayError, GameError) as error:
            return {"why": f"The newest rated game cannot be shown: {error}"}
        self._shown = game.match
        return {"why": replay.why, "command": replay.command, "film": replay.film}


def _make_all(parts: Sequence[_Part]) -> None:
    for part in parts:
        part.make_if_due()


class _Part:
    """A part of the page, made again when one of its files has changed, within ``SHARE`` of the processors."""

    def __init__(self, files: Sequence[Path] = (), make: Callable[[], dict[str, Any] | None] = lambda: None) -> None:
        self.at = ""  # differs with the content
        self.content = ""  # JSON
        self._files = files
        self._make = make
        self._made_of: list[int] | None = None
        self._next = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._next and self._made_of != self._written()

    def make_if_due(self) -> None:
        if not self.is_due():
            return
        self._made_of = self._written()  # before they are read
        began = time.thread_time()
        content = self._make()
        if content is not None:
            self.show(content)
        self._next = time.monotonic() + (time.thread_time() - began) / (SHARE * (os.cpu_count() or 1))

    def show(self, content: dict[str, Any]) -> None:
        self.content = _json(content)
        self.at = hashlib.sha256(self.content.encode()).hexdigest()[:16]

    def _written(self) -> list[int]:
        return [modified_ns(path) for path in self._files]


def described(found: RunStatus, silent_s: float) -> tuple[str, str]:
    """State of a run, as the page colours it, and in a sentence."""
    if found.trainer is None:
        state = "killed" if found.standing.ended is None else "ended"
        return state, f"The run has ended, {ago(silent_s)}: {found.fate}."
    if silent_s > SILENT_S:
        return "silent", f"The trainer (process {found.trainer}) has not written for {ago(silent_s, '')}."
    return "training", f"{found.fate[:1].upper()}{found.fate[1:]}."


def figures(row: JsonRow, silent_s: float) -> str:
    """The last iteration in a line."""
    if not row:
        return f"No iteration has ended. Last written {ago(silent_s)}."
    speed = row.get("charts/steps_per_s")
    steps_per_s = f", {speed:,.0f} steps a second" if isinstance(speed, int | float) else ""
    steps = f", {row['total_steps']:,} steps" if "total_steps" in row else ""
    return f"Iteration {row['iteration']:,}{steps}{steps_per_s}. Last written {ago(silent_s)}."


def ago(seconds: float, end: str = " ago") -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}{end}"
    return f"{seconds:.0f} s{end}"


def newest_game(ledger: Path, ended: Ended) -> GameRecord | None:
    """The newest game of a generation that finished, or else the newest; None without one."""
    try:
        with opened(ledger) as handle:
            size = os.fstat(handle).st_size
            text = os.pread(handle, TAIL, max(size - TAIL, 0))
    except OSError:
        return None
    lines = text.split(b"\n")[int(size > TAIL) :]  # the first may lack its start
    games = [game for line in reversed(lines) if (game := _game(line)) is not None]
    return next((game for game in games if ended(game) is not None), games[0] if games else None)


def _game(line: bytes) -> GameRecord | None:
    try:
        game = GameRecord.model_validate_json(line)
    except ValidationError:  # the last line may lack its end
        return None
    return game if any(generation_number(seat.player) is not None for seat in game.seats) else None


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
