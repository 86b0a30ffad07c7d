"""Two-player games of TextArena as text games. TextArena is imported only where one is asked for.

Its games draw from the generators of ``random`` and ``numpy.random``, which belong to the whole process. Here each game
has states of its own, which take their place during each call.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

import numpy as np

from selfplay.distribution import install_command
from selfplay.games.errors import GameError, UnknownNameError, error_context
from selfplay.games.plugins import TEXTARENA
from selfplay.games.text_game import Acted, TextGame

if TYPE_CHECKING:
    from types import ModuleType

VARIANTS: Final = ("-train", "-raw")  # of most games: other texts
MAX_TURNS: Final = 200  # of games that have no limit of their own
COMPARED: Final = 4  # games whose prompts show what depends on the seed
RANDOM: Final = "random"
REFUSED, ERROR = "refused", "error"  # reasons of an end: an invalid move too many; the game raised an error
_Message = tuple[int, str, Any]  # sender, text, kind
_LOCK: Final = RLock()  # the generators are those of all threads
_REASON: Final = re.compile(r"Reason: (.*?) Please resubmit", re.DOTALL)
_QUOTED: Final = re.compile(r"'(\[[^\[\]]+\])'")
_BRACKETS: Final = re.compile(r"\[[^\[\]]+\]")


@cache
def library() -> ModuleType:
    """``textarena``; GameError with the command that installs it, if it is missing."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of packages that it imports, and it changes the filters
            import textarena
    except ImportError as error:
        raise GameError(f"TextArena is missing: {install_command('textarena')} ({error})") from error
    found: ModuleType = textarena
    return found


def class_of_name(name: str) -> type[TextGame]:
    """The game of a name in ``plugins``, such as ``textarena:TicTacToe-v0``.

    Raises:
        GameError: there is none, or it is not played here: it has not two players, or needs files or a server.
    """
    spelled = name.removeprefix(TEXTARENA)
    with error_context(f"--game-type {name}"):
        known = library().envs.registration.ENV_REGISTRY
        if spelled not in known:
            raise UnknownNameError("game of TextArena", spelled, [one for one in known if not one.endswith(VARIANTS)])
        prompts = [_prompts(spelled, seed) for seed in range(COMPARED)]
        moves = {move: None for both in prompts for text in both for move in _moves(text)}
        player = type("QuotedMoves", (QuotedMoves,), {"known": (*moves,)})
        told = prompts[0] if len({*prompts}) == 1 else None
        return _class(spelled, told, {RANDOM: player})


def _class(
    spelled: str, told: tuple[str, str] | None = None, players: Mapping[str, type[QuotedMoves]] = MappingProxyType({})
) -> type[TextArenaGame]:
    own = {"spelled": spelled, "told": told, "players": players, "__module__": __name__}
    return type("TextArenaGame", (TextArenaGame,), own)


def _prompts(spelled: str, seed: int) -> tuple[str, str]:
    game = _class(spelled)()
    game.reset(seed)
    return game.prompts


class QuotedMoves:
    """Writes a random move out of those that the game quoted last, such as ``'[fold]'``; other moves it cannot know."""

    known: ClassVar[tuple[str, ...]] = ()  # of the prompts

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._moves = self.known

    def reply(self, observation: str) -> str:
        self._moves = (*dict.fromkeys(_moves(observation)),) or self._moves
        return self._moves[int(self._rng.integers(len(self._moves)))] if self._moves else "[0]"


class TextArenaGame(TextGame):
    """A game of TextArena; ``class_of_name`` makes its classes.

    Invalid moves are refused as often as TextArena allows; the next one ends the game by its rules. A reply on which
    the game raises an error loses.
    """

    spelled: ClassVar[str]
    told: ClassVar[tuple[str, str] | None]  # prompts, if they do not depend on the seed
    objective = "reward"
    retries = 1_000  # TextArena counts them
    error_penalty = 0.0
    max_turns = MAX_TURNS
    defaults = MappingProxyType({"start": {"tokens": 500_000}})

    def reset(self, seed: int) -> None:
        self._generators = _Generators(seed)
        with self._generators.in_use():
            self._env = _opened(self.spelled, self._generators.seed)
        self._unread: tuple[list[_Message], list[_Message]] = ([], [])
        self._begin_turn()

    @property
    def prompts(self) -> tuple[str, str]:
        """What TextArena says to each seat before the game, as long as no seat has moved."""
        kind = library().ObservationType.PROMPT
        first, second = ("\n".join(one[1].strip() for one in unread if one[2] == kind) for unread in self._unread)
        return first, second

    def rules(self, seat: int) -> str:
        return self.told[seat] if self.told else ""

    def observe(self, seat: int) -> str:
        kinds = library().ObservationType
        boards = [at for at, (_, _, kind) in enumerate(self._unread[seat]) if kind == kinds.GAME_BOARD]
        left_out = {*boards[:-1]}
        texts = [
            text.strip() if sender < 0 else f"[{self._env.state.role_mapping[sender]}] {text.strip()}"
            for at, (sender, text, _) in enumerate(self._unread[seat])
            if at not in left_out
        ]
        return "\n".join(texts)

    def act(self, text: str) -> Acted:
        state, mover = self._env.state, self.mover
        errors = state.error_count
        self._unread[mover].clear()
        try:
            with self._generators.in_use():
                self._env.step(text)
        except Exception:  # some games fail on some replies, which must neither end a run nor save a losing seat
            return (-1.0, 1.0, ERROR) if mover == 0 else (1.0, -1.0, ERROR)
        if not state.done and state.error_count > errors and state.current_player_id == mover:
            return self._refusal()
        self._begin_turn()
        if not state.done:
            return None
        rewards = float(state.rewards[0]), float(state.rewards[1])
        return (*rewards, REFUSED) if any(state.game_info[seat]["invalid_move"] for seat in (0, 1)) else rewards

    def _refusal(self) -> str:
        kinds = library().ObservationType
        said = [text for _, text, kind in self._env.state.observations[self.mover] if kind == kinds.GAME_ADMIN]
        self._read_messages(hidden={kinds.PLAYER_ACTION, kinds.GAME_ADMIN})
        found = _REASON.search(said[-1]) if said else None
        return found[1].strip() if found else "the move is invalid"

    def _begin_turn(self) -> None:
        self.mover = int(self._env.state.current_player_id)
        self._read_messages(_hidden(self._env) | ({library().ObservationType.PROMPT} if self.told else set()))

    def _read_messages(self, hidden: set[Any]) -> None:
        """Take the new messages for both seats, without those of some kinds, and without what a seat wrote itself."""
        for seat, messages in enumerate(self._unread):
            messages += [one for one in self._env.state.observations[seat] if one[2] not in hidden and one[0] != seat]
            self._env.state.observations[seat] = []


class _Generators:
    """The states of ``random`` and ``numpy.random`` that belong to one game."""

    def __init__(self, seed: int) -> None:
        sequence = np.random.SeedSequence(seed)
        self.seed = int(sequence.generate_state(1)[0])
        self._states: tuple[Any, Any] = (
            random.Random(seed).getstate(),
            np.random.RandomState(np.random.MT19937(sequence)).get_state(),
        )

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with _LOCK:
            others = random.getstate(), np.random.get_state()
            random.setstate(self._states[0])
            np.random.set_state(self._states[1])
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()
                random.setstate(others[0])
                np.random.set_state(others[1])


def _opened(spelled: str, seed: int) -> Any:
    """A game that begins, with the wrappers of its name."""
    ta = library()
    needs_words = GameError("it needs word lists of NLTK, whose order differs between processes: no game is repeatable")
    needs_server = GameError("it asks language models on the network, so that no game is repeatable")
    no_words = patch("nltk.download", side_effect=needs_words)
    with no_words, patch.object(ta.agents.OpenRouterAgent, "__init__", side_effect=needs_server):
        try:
            made = ta.make(spelled)
            made.reset(num_players=2, seed=seed)
        except GameError:
            raise
        except Exception as error:  # TextArena has no errors of its own: asserts, missing files and modules, syntax
            why = " ".join(str(error).split()) or type(error).__name__
            raise GameError(f"TextArena cannot begin {spelled} with two players: {why}") from error
    return made


def _moves(text: str) -> list[str]:
    return _QUOTED.findall(text) or _BRACKETS.findall(text)


def _hidden(game: Any) -> set[Any]:
    """Kinds of messages that the wrapper of a game leaves out."""
    ta, found = library(), set()
    shortened = (ta.wrappers.GameMessagesObservationWrapper, ta.wrappers.GameMessagesAndCurrentBoardObservationWrapper)
    while isinstance(game, ta.Wrapper):
        if isinstance(game, shortened):
            found = {ta.ObservationType.PLAYER_ACTION, ta.ObservationType.GAME_ADMIN}
        game = game.env
    return found
