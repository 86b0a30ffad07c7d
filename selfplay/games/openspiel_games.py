"""Games of OpenSpiel as games of two seats. OpenSpiel is imported only where one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from selfplay.games.engines import engines_of
from selfplay.games.errors import error_context
from selfplay.games.game import BOTH, Action, BlockObserved
from selfplay.games.openspiel_names import library, load, openspiel_errors
from selfplay.games.plain import described
from selfplay.games.plugins import OPENSPIEL
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.vector import RANDOM, SyncVectorGame

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool
    from selfplay.games.kind import GameKind


class _Loaded:
    """What all copies of a game share: it has no state of the play.

    ``copy.deepcopy`` and ``state_key`` take an object that is reduced to a name for the same object, without a look
    into it. Parts of pyspiel cannot be pickled, or only as slowly as a game is loaded.
    """

    __slots__ = ("game", "kind", "seen")

    def __init__(self, spelled: str) -> None:
        from open_spiel.python.observation import make_observation

        pyspiel = library()
        self.game = load(spelled)
        self.kind = self.game.get_type()
        remembers = self.kind.provides_information_state_tensor
        with openspiel_errors(spelled):
            self.seen = make_observation(self.game, pyspiel.IIGObservationType(perfect_recall=remembers))

    def __reduce__(self) -> str:
        return str(self.game)


class OpenSpielGame(BlockObserved):
    """A game of OpenSpiel. Its seats are the players of OpenSpiel, in their order.

    A seat sees its information state, or its observation in a game that has no tensor of information states, and then
    1, 0 for the first seat or 0, 1 for the second. Chance nodes are drawn with a generator of the episode's seed.

    Attributes:
        state: The ``pyspiel.State``, for scripted players.
        engines: Programs of others that play the game, which are its scripted players.
    """

    def __init__(self, spelled: str) -> None:
        """Load the game that OpenSpiel calls ``spelled``; GameError as of ``load``."""
        self._loaded = loaded = _Loaded(spelled)
        kind = loaded.kind
        self.num_actions = self.game.num_distinct_actions()
        self.obs_width = loaded.seen.tensor.size + len(BOTH)
        self.max_steps = self.game.max_game_length()
        self.objective = _objective(self.game, library())
        if self.objective != "outcome":
            self.payoff_range = (self.game.min_utility(), self.game.max_utility())
        self.payoff_unit = "chips" if "poker" in kind.short_name else "points"
        self.players = self.engines = engines_of(kind.short_name, self.game.get_parameters())

    @property
    def game(self) -> Any:
        """The ``pyspiel.Game``."""
        return self._loaded.game

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.state = self.game.new_initial_state()
        self._returns = [0.0, 0.0]
        self._draw_chances()

    def to_act(self) -> Sequence[int]:
        if self.state.is_simultaneous_node():
            return [seat for seat in BOTH if self.state.legal_actions(seat)]
        return (self.state.current_player(),)

    def observe_all(self, games: Sequence[OpenSpielGame], seat: int) -> F32:
        rows = np.zeros((len(games), self.obs_width), np.float32)
        rows[:, seat - len(BOTH)] = 1
        for row, game in zip(rows, games, strict=True):
            if not game.state.is_terminal():  # many games show nothing then
                self._loaded.seen.set_from(game.state, seat)
                row[: -len(BOTH)] = self._loaded.seen.tensor
        return rows

    def legal_all(self, games: Sequence[OpenSpielGame], seat: int) -> Bool:
        masks = np.zeros((len(games), self.game.num_distinct_actions()), np.bool_)
        for mask, game in zip(masks, games, strict=True):
            mask[game.state.legal_actions(seat)] = True
        return masks

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        if self.state.is_simultaneous_node():
            self.state.apply_actions(actions)
        else:
            self.state.apply_action(actions[self.state.current_player()])
        self._draw_chances()
        before, self._returns = self._returns, self.state.returns()
        return [now - then for now, then in zip(self._returns, before, strict=True)], self.state.is_terminal(), False

    def _draw_chances(self) -> None:
        while self.state.is_chance_node():
            outcomes, chances = zip(*self.state.chance_outcomes(), strict=True)
            self.state.apply_action(outcomes[self._rng.choice(len(outcomes), p=chances)])

    def render(self) -> str:
        """The state; where it has secrets, what the seat that is to act knows of it."""
        open_to_all = self._loaded.kind.information != library().GameType.Information.IMPERFECT_INFORMATION
        if open_to_all or self.state.is_terminal():
            return str(self.state)
        if self.state.is_simultaneous_node():
            raise NotImplementedError
        known = self._loaded.kind.provides_information_state_string
        return str((self.state.information_state_string if known else self.state.observation_string)())

    def action_name(self, action: int) -> str:
        """OpenSpiel's name of an action of the seat that is to act; its number if it is not legal now."""
        seat = next(iter(self.to_act()), 0) if not self.state.is_terminal() else 0
        legal = action in self.state.legal_actions(seat)
        return str(self.state.action_to_string(seat, action)) if legal else str(action)

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()


def _objective(game: Any, pyspiel: Any) -> str:
    utility = game.get_type().utility
    if utility == pyspiel.GameType.Utility.IDENTICAL:
        return "shared"
    won_or_lost = (game.min_utility(), game.max_utility()) == (-1, 1)
    return "outcome" if utility == pyspiel.GameType.Utility.ZERO_SUM and won_or_lost else "reward"


def kind_of_name(name: str) -> GameKind:
    """The description of a game by its name in ``plugins.spelling``; programs that play it are not in its ladder."""
    single = partial(OpenSpielGame, name.removeprefix(OPENSPIEL))
    with error_context(f"--game-type {name}"):
        game = single()
    players = {RANDOM: ScriptedPlayer("1")}
    players |= {player: ScriptedPlayer(engine.version) for player, engine in game.engines.items()}
    return described(
        name,
        partial(SyncVectorGame, single),
        lambda render=True: single(),
        ladder=(RANDOM,),
        rated=RatedGame(players, {"game": name, "version": game.version}),
        shares=name,
    )
