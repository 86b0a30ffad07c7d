"""Description of a game for the trainer. See docs/trainer/environments.md.

A plain ``Game`` gets a default one. A package whose game needs more brings a ``GameKind`` of its own, as an entry point
of the group ``selfplay.games`` or as ``module:name``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from selfplay.games.columns import NONE, Columns
from selfplay.games.objective import GAMES, OUTCOME, Objective, measure
from selfplay.games.rated import Body, MatchFlags, NoBody, NoFlags, RatedGame
from selfplay.games.timing import step_seconds

if TYPE_CHECKING:
    from selfplay.games.api import ActionSpec, ScriptedGame
    from selfplay.games.plugins import MakeSingle
    from selfplay.games.solved.table import Table


class AnyKind:
    """A game of any training."""

    __slots__ = ()
    training: ClassVar[str]
    """Entry point of the group ``selfplay.trainings``."""


@dataclass(frozen=True, slots=True)
class GameKind(AnyKind):
    """Description of a game for the trainer, before any game is made."""

    training: ClassVar[str] = "ppo"

    make: Callable[..., ScriptedGame]  # takes ``num_games`` and the game's own options, JSON-able all of them
    obs_width: int
    actions: ActionSpec
    encoder_version: int  # of the observations: another number, another meaning
    ladder: tuple[str, ...]  # scripted players that are rated; ``random`` fixes the scale
    rated: RatedGame  # all scripted players, and what makes rated games comparable
    body: type[Body] = NoBody  # what policies keep of the settings that they were trained with, of the group ``game``
    agreed: tuple[str, ...] = ()  # names in the body of which all policies of a run have the same values
    settings: Callable[[], Any] | None = None  # makes a ``selfplay.config.game_settings.GameSettings``
    aliases: tuple[str, ...] = ()  # what people may call it that is no name of a game
    preset: str | None = "board"  # of a call of the trainer without settings
    columns: Columns = NONE  # figures of its episodes, for log, live view, page, TensorBoard and health
    health: Callable[[], Mapping[str, Callable[..., str | None]]] = dict  # rules, see ``selfplay.report.health``
    default_policy: str = ""  # a shipped one, to play or watch where none is named and there is no run
    starts_at_once: Callable[[], bool] = lambda: True  # returns True if no step compiles rules
    prepare: Callable[[], None] | None = None  # compiles the rules, for all processes of this machine
    host: Callable[[], Any] | None = None  # of a game in real time: makes a ``selfplay.ppo.host.RealTimeHost``
    match_flags: Callable[[], MatchFlags] = NoFlags  # of the conditions of matches, for ``selfplay evaluate``
    compared_in: str = ""  # game in which its policies are evaluated; "": this one
    sample: Callable[[Any, int], ScriptedGame] | None = None  # as the policy of a body sees them, with scripted players
    training_players: tuple[str, ...] | None = None  # scripted players met in training; None: those of the ladder
    held_out: tuple[str, ...] = ()  # those of them that training does not meet by default
    start: Callable[[], Any] | None = None  # ``ppo.pretrained.Start``: the policy of --pretrained scripted; None: none
    imitation: Callable[[], Any] | None = None  # ``imitation.hook.Imitation``; None: of games recorded in one file
    action_parts: tuple[str, ...] = ()  # names of the integers of an action, see ``part_names``
    table: Callable[[], Table] | None = None  # of a game given as rules: its states
    show: Callable[[], Any] | None = None  # a ``Show`` of rated games, for the page of a run; None: step by step
    verbs: Mapping[str, str] = field(default_factory=dict)  # run in its own way: modules with a ``main``
    single: MakeSingle | None = None
    shares: str = ""  # games of equal names here share policies
    declared: Objective | None = None  # what players are judged by; None: what payoffs of random play show
    repeats: bool = True  # equal seeds and actions give equal games, so that games can be continued

    def ladder_of(self, body: Body) -> tuple[str, ...]:
        """Scripted players that are rated beside policies of a body."""
        del body
        return self.ladder

    @property
    def objective(self) -> Objective:
        """What players are judged by. Plays a little, once, if the game does not declare it."""
        return self.declared or (OUTCOME if self.real_time else _measured(self.make))

    @property
    def step_s(self) -> float:
        """Seconds that one game takes for a step, measured once; 0 of compiled games, tables and games in real time."""
        if self.prepare is not None or self.table is not None or self.real_time:
            return 0.0
        return _timed(self.make)

    @property
    def real_time(self) -> bool:
        """Whether it runs in processes of its own: one game each, nothing is kept, a slow one is left behind."""
        return self.host is not None

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of the integers of an action."""
        width = self.actions.width
        return self.action_parts or (("action",) if width == 1 else tuple(f"part_{i}" for i in range(width)))


@dataclass(frozen=True, slots=True)
class TextKind(AnyKind):
    """A text game, which ``selfplay.dialogue`` trains."""

    training: ClassVar[str] = "dialogue"
    entry: Callable[[], Any]  # a ``TextGame`` class, or a ``selfplay.dialogue.contract.DialogueEntry``
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of a training of the embedded model that are others than in most games, by group and name."""


@cache
def _measured(make: Callable[..., ScriptedGame]) -> Objective:
    games = make(num_games=GAMES)
    try:
        return measure(games)
    finally:
        games.close()


@cache
def _timed(make: Callable[..., ScriptedGame]) -> float:
    game = make(num_games=1)
    try:
        return step_seconds(game)
    finally:
        game.close()


def later(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is loaded by its first call, so that a description of a game is cheap."""
    return lambda *args, **options: getattr(import_module(module), name)(*args, **options)
