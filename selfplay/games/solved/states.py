"""States of a game that is written down whole, and what follows on each of them."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import EnumerationError, GameError, error_context
from selfplay.games.game import BOTH
from selfplay.games.solved.block import SolvedGame
from selfplay.games.solved.chance import NumpyDraws, outcomes
from selfplay.games.solved.state_key import state_key
from selfplay.games.vector import RANDOM, action_spec

if TYPE_CHECKING:
    from selfplay.games.game import Game

OVER: Final = -1  # in the place of a state, where an episode ends
WAITS: Final = -1  # in the place of what a seat sees, where it does not act
START: Final = 0  # the move of chance with which an episode begins


class Result(NamedTuple):
    """An outcome of a step."""

    chance: float
    state: int
    rewards: tuple[float, float]


@dataclass(frozen=True, slots=True)
class View:
    """What a seat sees at a decision, and its actions, by their parts."""

    obs: NDArray[np.float32]
    legal: NDArray[np.bool_]
    choices: tuple[tuple[int, ...], ...]


class After(NamedTuple):
    """What follows on a state."""

    views: tuple[int, int]  # numbers of what the seats see
    moves: list[tuple[int, list[Result]]]  # of each pair of choices: its number among all, and the outcomes


class States:
    """States by number, and what follows on them, found when it is asked for."""

    def __init__(self, game: Game, check: Callable[[int], None]) -> None:
        """``check`` is called now and then with the number of states so far, and may raise."""
        self.game, self._check = game, check
        self.spec = action_spec(game.num_actions)
        self.max_steps = game.max_steps
        self.views: tuple[list[View], list[View]] = [], []
        self._single = isinstance(game.num_actions, int)
        self._modules = tuple(each.__module__ for each in type(game).__mro__)
        self._number: dict[Hashable, int] = {}
        self._games: list[tuple[Game, frozenset[str]] | None] = []  # until it is known what follows
        self._after: list[After | None] = []
        self._seen: tuple[dict[tuple[bytes, bytes], int], ...] = {}, {}
        self._acts = array("b", (0,)), array("b", (0,))  # of each seat, by move
        self._chances = {name: (array("d", (1.0,)), array("d", (1.0,))) for name in (RANDOM, *game.players)}
        self._left_out: dict[str, str] = {}

    def starts(self) -> list[Result]:
        """The states in which an episode may begin."""
        return [Result(chance, self._add(game, seeds), (0.0, 0.0)) for chance, game, seeds in self._begun()]

    def after(self, state: int) -> After:
        """What follows on a state."""
        if (known := self._after[state]) is None:
            known = self._after[state] = self._followed(*self._taken(state))
        return known

    def view(self, game: Game, seat: int) -> int:
        """Number of what a seat sees that is to act."""
        with asking("observations"):
            obs = np.array(game.observe(seat), np.float32).reshape(self.game.obs_width)
            mask = game.legal(seat)
            legal = np.ones(self.spec.logits, np.bool_)
            if mask is not None:
                legal = np.array(mask, np.bool_).reshape(legal.shape)
        key = obs.tobytes(), legal.tobytes()
        if key not in self._seen[seat]:
            parts = (np.flatnonzero(part).tolist() for part in np.split(legal, self.spec.starts[1:]))
            if not (choices := tuple(product(*parts))):
                raise GameError(f"seat {seat} is to act, but nothing is legal")
            self._seen[seat][key] = len(self.views[seat])
            self.views[seat].append(View(obs, legal, choices))
        return self._seen[seat][key]

    def actions(self, parts: Sequence[tuple[int, ...]]) -> Sequence[Any]:
        """Actions of both seats as ``Game.step`` takes them."""
        return [each[0] for each in parts] if self._single else [[*each] for each in parts]

    def moves_played(self) -> tuple[NDArray[np.bool_], Mapping[str, NDArray[np.float64]], Mapping[str, str]]:
        """Of all moves: which seats act [2, moves]; scripted players' chances of them [2, moves]; who has none."""
        known = {name: np.array(chances) for name, chances in self._chances.items() if name not in self._left_out}
        return np.array(self._acts, np.bool_), known, self._left_out

    def _begun(self) -> Iterator[tuple[float, Game, frozenset[str]]]:
        if isinstance(self.game, SolvedGame):
            starts = self.game.begun()
            return ((1.0 / len(starts), game, frozenset()) for game in starts)

        def begun() -> Game:
            game = self._copy(self.game)
            with asking("reset"):
                game.reset(0)
            return game

        return outcomes(begun, self._modules)

    def _add(self, game: Game, seeds: frozenset[str]) -> int:
        self._check(len(self._games))
        number = self._number.setdefault((state_key(game), seeds), len(self._games))
        if number == len(self._games):
            self._games.append((game, seeds))
            self._after.append(None)
        return number

    def _taken(self, state: int) -> tuple[Game, frozenset[str]]:
        """A game in a state, of which nothing else will be asked."""
        taken, self._games[state] = self._games[state], None
        if taken is None:
            raise RuntimeError(f"state {state} was followed before")
        return taken

    def _followed(self, game: Game, seeds: frozenset[str]) -> After:
        if state_key(self._copy(game)) != state_key(game):
            raise EnumerationError("it cannot be copied: a copy is in another state")
        with asking("to_act"):
            acting = [*game.to_act()]
        views = (self.view(game, 0) if 0 in acting else WAITS), (self.view(game, 1) if 1 in acting else WAITS)
        waits = ((0,) * self.spec.width,)
        choices = [waits if view == WAITS else self.views[seat][view].choices for seat, view in enumerate(views)]
        chances = [{} if view == WAITS else self._played(game, seat, choices[seat]) for seat, view in enumerate(views)]
        moves = []
        for pair in product(*(range(len(each)) for each in choices)):
            parts = [each[choice] for each, choice in zip(choices, pair, strict=True)]
            moves.append((len(self._acts[0]), [*self._results(game, parts, seeds)]))
            for seat in BOTH:
                self._acts[seat].append(seat in acting)
                for name, columns in self._chances.items():
                    columns[seat].append(chances[seat][name][pair[seat]] if name in chances[seat] else 1.0)
        return After(views, moves)

    def _played(self, game: Game, seat: int, choices: Sequence[tuple[int, ...]]) -> dict[str, list[float]]:
        """Probability of each action of a seat, by scripted player."""
        found = {RANDOM: [1.0 / len(choices)] * len(choices)}
        for name in [name for name in game.players if name not in self._left_out]:
            try:
                found[name] = self._of_player(name, game, seat, choices)
            except EnumerationError as error:
                self._left_out[name] = str(error)
        return found

    def _of_player(self, name: str, game: Game, seat: int, choices: Sequence[tuple[int, ...]]) -> list[float]:
        player, found = game.players[name], dict.fromkeys(choices, 0.0)
        modules = (*self._modules, getattr(player, "__module__", ""))
        with asking(f"player {name}"):
            for chance, action, _ in outcomes(lambda: player(game, seat, NumpyDraws.given()), modules):  # type: ignore[arg-type]
                self._check(len(self._games))
                chosen = tuple(np.atleast_1d(np.asarray(action)).tolist())
                if chosen not in found:
                    raise GameError(f"{[*chosen]} is not legal")
                found[chosen] += chance
        return [*found.values()]

    def _results(self, game: Game, parts: list[tuple[int, ...]], seeds: frozenset[str]) -> Iterator[Result]:
        def stepped() -> tuple[Game, tuple[float, float], bool]:
            twin = self._copy(game)
            with asking("step"):
                (one, other), terminated, truncated = twin.step(self.actions(parts))
                return twin, (float(one), float(other)), bool(terminated or truncated)

        for chance, (twin, rewards, over), made in outcomes(stepped, self._modules, seeds):
            self._check(len(self._games))
            yield Result(chance, OVER if over else self._add(twin, made), rewards)

    def _copy(self, game: Game) -> Game:
        try:
            return copy.deepcopy(game)
        except Exception as error:
            raise EnumerationError(f"it cannot be copied: {type(error).__name__}: {error}") from error


@contextmanager
def asking(where: str) -> Iterator[None]:
    """``error_context`` that lets an EnumerationError pass."""
    try:
        with error_context(where):
            yield
    except GameError as error:
        if isinstance(error.__cause__, EnumerationError):
            raise error.__cause__ from None
        raise
