"""Scans a folder of replay files and loads the examples of its games."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from selfplay.errors import ConfigError
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.files import read_plain
from selfplay.imitation.recordings import Progress, Recordings
from selfplay_melee.examples import examples
from selfplay_melee.replay import read_replay
from selfplay_melee.replays.cache import LIMIT_BYTES, Cache, FileNote, format_key
from selfplay_melee.replays.folder import replay_files
from selfplay_melee.replays.games import MAX_REASON, Game, Note, SeatInfo, is_player, note_of
from selfplay_melee.slp.container import MAX_FILE_BYTES
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import CHARACTERS, load_tables

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.imitation import recordings
    from selfplay.imitation.batches import Examples

MAX_FEATURE: Final = 1000.0  # features are of order 1; larger values mean a damaged file


class Library(Recordings):
    """The replay files below a folder, as examples for one frame skip and delay.

    Args:
        folder: searched recursively for .slp files, sorted by path; links to folders are not followed. Or one file.
        frame_skip: of the policy to train.
        delay: of the policy to train, in frames.
        cache: folder of the cache; None: no cache.
        characters: select seats that play one of these; empty: any.
        player: select seats by port, display name or connect code, see ``is_player``; None: any.
        max_files: stop after so many usable games; None: no limit.
        cache_bytes: size limit of the cache.

    Raises:
        UnknownNameError: unknown character.
        ConfigError: another argument is invalid.
    """

    what: ClassVar = ".slp files"

    def __init__(
        self,
        folder: Path,
        frame_skip: int,
        delay: int,
        cache: Path | None,
        characters: tuple[str, ...] = (),
        player: str | None = None,
        max_files: int | None = None,
        cache_bytes: int = LIMIT_BYTES,
    ) -> None:
        for name in characters:
            if name not in CHARACTERS:
                raise UnknownNameError("character", name, CHARACTERS)
        if frame_skip < 1 or delay < 0 or (max_files is not None and max_files < 1):
            raise ConfigError(
                f"frame_skip and max_files must be at least 1 and delay at least 0, "
                f"got {frame_skip}, {max_files} and {delay}"
            )
        super().__init__(folder, player)
        self._frame_skip, self._delay = frame_skip, delay
        self._characters, self._max_files = characters, max_files
        self._tables = load_tables()
        self._cache = None
        if cache is not None:
            self._cache = Cache(cache, format_key(frame_skip, delay, self._tables), cache_bytes)

    def scan(self, progress: Progress = lambda done, total: None) -> tuple[Game, ...]:
        """Find the games. One file at a time is in memory. ConfigError also if there is no such folder."""
        paths = replay_files(self.folder)
        before = self._cache.known_files(self.folder) if self._cache else {}
        files = {name: note for path in paths if (note := before.get(name := self._name(path)))}
        games: list[Game] = []
        seen: set[str] = set()
        self.bad, self.duplicates, self.unwanted, self._others = [], 0, 0, set()
        for done, path in enumerate(paths):
            progress(done, len(paths))
            if (game := self._look(path, files, seen)) is not None:
                games.append(game)
            if len(games) == self._max_files:
                break
        progress(len(paths), len(paths))
        if self._cache and files != before:
            self._cache.remember_files(self.folder, files)
            self.cache_trouble = self._cache.trouble
        self.games = tuple(games)
        if not games:
            raise self._nothing(len(paths), *([f"plays {' or '.join(self._characters)}"] if self._characters else []))
        return tuple(games)

    def load(self, game: recordings.Game) -> list[Examples]:
        """The examples of a game; ConfigError if the file is missing or has changed since the scan."""
        both = self._cache.examples(game.hash) if self._cache else None
        if both is None:
            try:
                data = _read(game.path)
            except OSError as error:
                raise ConfigError(f"{game.path} was there at the scan: {error.strerror or error}") from error
            if hashlib.sha256(data).hexdigest() != game.hash:
                raise ConfigError(f"{game.path} has changed since the scan")
            _, both = self._make(game.hash, data, game.path.name)
        return [both[seat.seat] for seat in game.seats]

    def _look(self, path: Path, files: dict[str, FileNote], seen: set[str]) -> Game | None:
        """The game of a file, or None; updates the counters and ``files``."""
        try:
            content, data = self._content(path, files)
            if content in seen:
                self.duplicates += 1
                return None
            seen.add(content)
            note = self._cache.note(content) if self._cache else None
            if note is None:
                note, _ = self._make(content, _read(path) if data is None else data, path.name)
        except OSError as error:
            self.bad.append((path, error.strerror or str(error)))
            return None
        if note.bad:
            self.bad.append((path, note.bad))
            return None
        seats = self._selected(note.seats, self._wants, lambda seat: seat.name or seat.code)
        return Game(path, content, seats, note.stage) if seats else None

    def _content(self, path: Path, files: dict[str, FileNote]) -> tuple[str, bytes | None]:
        """The sha256 of a file, and its bytes if they had to be read."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError("no plain file")
        if status.st_size > MAX_FILE_BYTES:
            raise OSError(f"{status.st_size} bytes, at most {MAX_FILE_BYTES} are read")
        known = files.get(self._name(path))
        if self._cache and known and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known.sha256, None
        data = _read(path)
        content = hashlib.sha256(data).hexdigest()
        files[self._name(path)] = FileNote(size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=content)
        return content, data

    def _make(self, content: str, data: bytes, name: str) -> tuple[Note, list[Examples]]:
        """Read and encode a file and cache the result; no examples if it is unusable."""
        made: list[Examples] = []
        try:
            replay = read_replay(data, name)
            made = [examples(replay, seat, self._frame_skip, self._delay, self._tables) for seat in range(NUM_SEATS)]
            _check(made)
            note = note_of(replay, tuple(len(seat) for seat in made))
        except (GameError, _Unusable) as error:
            note, made = Note(bad=str(error).removeprefix(f"{name}: ")[:MAX_REASON]), []
        if self._cache:
            self._cache.put(content, note, made)
            self.cache_trouble = self._cache.trouble
        return note, made

    def _wants(self, seat: SeatInfo) -> bool:
        if self._characters and seat.character not in self._characters:
            return False
        return self._player is None or is_player(self._player, seat.port, seat.name, seat.code)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()


class _Unusable(Exception):
    """A readable game without usable examples; the message is the reason."""


def _check(made: Sequence[Examples]) -> None:
    if not all(len(seat) for seat in made):
        raise _Unusable("too short: no decision has all the frames of its label")
    if not all(np.abs(seat.obs).max() <= MAX_FEATURE for seat in made):
        raise _Unusable("damaged: it holds numbers that no game has")


def _read(path: Path) -> bytes:
    return read_plain(path, MAX_FILE_BYTES, follow=True)
