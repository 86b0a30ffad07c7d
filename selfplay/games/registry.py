"""Games by name, and what is known of one before any is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from selfplay.distribution import install_command
from selfplay.games import plugins
from selfplay.games.errors import DolphinError, GameError, UnknownNameError, error_context
from selfplay.games.rated import Body, NoBody, RatedGame, ScriptedPlayer
from selfplay.games.solved.block import SolvedGame, TableGame
from selfplay.games.solved.kuhn import Kuhn
from selfplay.games.solved.matrix import MATCHING_PENNIES, ROCK_PAPER_SCISSORS
from selfplay.games.solved.mixup import MixUp
from selfplay.games.solved.table import Player, always, enumerate_states, uniform
from selfplay.games.solved.table import action_spec as one_categorical
from selfplay.games.vector import RANDOM, SyncVectorGame, repeats_itself
from selfplay_melee import bot_names, rated
from selfplay_melee.controller import ACTION_SPEC, FIELDS
from selfplay_melee.dolphin import roster
from selfplay_melee.features import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.short_names import TITLES, full_name
from selfplay_melee.tables import names_of

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.games.api import ActionSpec, ScriptedGame
    from selfplay.games.plugins import MakeSingle
    from selfplay.games.solved.table import Rules, Table


@dataclass(frozen=True, slots=True)
class GameEntry:
    """Description of a game for a trainer."""

    make: Callable[..., ScriptedGame]  # takes ``num_games`` and the game's own options, JSON-able all of them
    obs_width: int
    actions: ActionSpec
    encoder_version: int  # of the observations: another number, another meaning
    ladder: tuple[str, ...]  # scripted players that are rated; ``random`` fixes the scale
    rated: RatedGame  # all scripted players, and how matches are played
    fighter: bool = False  # characters fight on a stage, frame by frame: what can be watched
    body: type[Body] = NoBody  # what policies keep of the settings that they were trained with, of the group ``game``
    agreed: tuple[str, ...] = ()  # names in the body of which all policies of a run have the same values
    settings: frozenset[str] = frozenset()  # those that not every game has: ``group.name``, or a whole group
    preset: str | None = "board"  # of a call of the trainer without settings
    health: tuple[str, ...] = ()  # checks of a run's health that not every game has
    starts_at_once: Callable[[], bool] = lambda: True  # returns True if no step compiles rules
    prepare: Callable[[], None] | None = None  # compiles the rules, for all processes of this machine
    real_time: bool = False  # in emulators of their own: one game a process, nothing is kept, a slow one is left behind
    training_players: tuple[str, ...] | None = None  # scripted players met in training; None: those of the ladder
    held_out: tuple[str, ...] = ()  # those of them that training does not meet by default
    imitated_players: tuple[str, ...] = ()  # scripted players of the mock that a run can begin by imitating
    characters: Collection[str] = ()  # of a fight
    stages: Collection[str] = ()
    action_parts: tuple[str, ...] = ()  # of a fight: names of the integers of an action
    table: Callable[[], Table] | None = None  # the whole game, where it is small enough to be judged exactly
    show: Literal["film", "steps"] | None = None  # to people: frames, or the steps of a game made by ``single``
    single: MakeSingle | None = None
    repeats: bool = True  # equal seeds and actions give equal games, so that games can be continued

    def has(self, setting: str) -> bool:
        """Return True if a setting ``group.name`` has an effect in this game."""
        names = {setting, setting.partition(".")[0]}
        return not names & OWN_SETTINGS or bool(names & self.settings)

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of the integers of an action."""
        width = self.actions.width
        return self.action_parts or (("action",) if width == 1 else tuple(f"part_{i}" for i in range(width)))


def _known(name: str, rules: Rules[Any], players: Mapping[str, Player], encoder_version: int = 1) -> GameEntry:
    """A game that is written down whole, with its scripted players beside a random one."""
    single = partial(SolvedGame, rules, players, encoder_version)
    players = {"random": uniform(rules), **players}
    table = cache(lambda: enumerate_states(rules, players))
    return GameEntry(
        make=lambda num_games: TableGame(table(), num_games),
        obs_width=len(rules.observe(rules.starts()[0], 0)),
        actions=one_categorical(rules.actions),
        encoder_version=encoder_version,
        ladder=tuple(players),
        rated=RatedGame({player: ScriptedPlayer("known-1") for player in players}, {"game": name, "players": 1}),
        table=table,
        show="steps",
        single=lambda render=True: single(),
    )


def _outside(name: str) -> GameEntry:
    """A game, or a block of games, from outside this package; scripted players are rated in their order.

    Raises:
        GameError: it cannot be imported, is not allowed to be, is no game, or has not what a trainer needs.
    """
    single, make = None, plugins.find_block(name)
    if make is None:
        single = plugins.find_single(name)
        make = partial(SyncVectorGame, partial(single, False))
    with error_context(f"--game-type {name}"):
        block = make(num_games=1)
        width, actions, players, seats = block.obs_width, block.actions, tuple(block.bot_names), block.num_seats
        block.close()
        if seats != 2 or RANDOM not in players:
            raise GameError(
                f"it has {seats} seats and the scripted players {', '.join(players) or 'none'}; "
                f"2 seats and a player {RANDOM!r} are needed"
            )
        repeats = getattr(block, "repeats", True) if single is None else repeats_itself(partial(single, False))
    game = block.games[0] if isinstance(block, SyncVectorGame) else None
    version, held_out = getattr(game, "version", 1), tuple(getattr(game, "held_out", ()))
    if strangers := set(held_out) - set(players):
        raise UnknownNameError(f"held_out player of {name}", min(strangers), players)
    return GameEntry(
        make=make,
        obs_width=width,
        actions=actions,
        encoder_version=version,
        ladder=players,
        rated=RatedGame(
            {player: ScriptedPlayer(f"{version}") for player in players}, {"game": name, "version": version}
        ),
        held_out=held_out,
        show=None if single is None else "steps",
        single=single,
        repeats=repeats,
    )


_outside_once: Final = cache(_outside)


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function whose module loads Numba, and is loaded by the first call, so that the registry itself is cheap."""
    return lambda *args, **options: getattr(import_module(module), name)(*args, **options)


def _dolphin(**options: Any) -> ScriptedGame:  # noqa: ANN401
    """The real game; what drives it is loaded only here."""
    try:
        from selfplay_melee.dolphin.game import DolphinMelee
    except ModuleNotFoundError as error:
        raise DolphinError(f"{error.name} is missing, which drives Dolphin: {install_command('dolphin')}") from error
    return DolphinMelee(**options)


_FIGHT_SETTINGS: Final = frozenset(
    (
        "reward", "net.rest", *(f"game.{field.name}" for field in fields(rated.FightBody)),
        "data.character", "data.frame_skip", "data.delay", "data.cache", "data.cache_gb", "data.no_cache",
        "learn.button_power", "learn.button_limit",
    )
)  # fmt: skip
_MOCK: Final = GameEntry(
    make=_later("selfplay_melee.mock", "MockMelee"),
    obs_width=OBS_WIDTH,
    actions=ACTION_SPEC,
    encoder_version=ENCODER_VERSION,
    ladder=bot_names.LADDER,
    fighter=True,
    body=rated.FightBody,
    show="film",
    agreed=("frame_skip", "delay"),
    settings=_FIGHT_SETTINGS,
    preset="laptop",
    health=("entropy_collapse", "few_results", "stalling", "value_function"),
    rated=rated.MOCK,
    starts_at_once=_later("selfplay_melee.mock", "rules_are_compiled"),
    prepare=_later("selfplay_melee.mock", "compile_rules"),
    held_out=("counter_hitter", "all_rounder"),
    imitated_players=("edge_guarder", "counter_hitter", "rusher"),  # never all_rounder: it stays unknown to training
    characters=names_of("characters"),
    stages=names_of("stages"),
    action_parts=FIELDS,
)
_DOLPHIN: Final = replace(  # all that policies see and do is the same
    _MOCK,
    make=_dolphin,
    rated=rated.DOLPHIN,
    ladder=("random", *roster.CPU),
    # A scripted player only needs a controller. A computer player of the game is chosen in a menu before an episode.
    training_players=bot_names.LADDER,
    starts_at_once=_later("selfplay_melee.external_frames", "rules_are_compiled"),
    prepare=_later("selfplay_melee.external_frames", "compile_rules"),
    real_time=True,
    settings=_FIGHT_SETTINGS | {"emulator", "game.dolphin", "game.iso"},
    preset=None,
    characters=tuple(roster.CHARACTERS),
)
_KUHN: Final = Kuhn()
_MIXUP: Final = MixUp()
GAMES: Final[dict[str, GameEntry]] = {
    "mock": _MOCK,
    "dolphin": _DOLPHIN,
    "rps": _known("rps", ROCK_PAPER_SCISSORS, {"rock": always(ROCK_PAPER_SCISSORS, "rock")}),
    "pennies": _known("pennies", MATCHING_PENNIES, {"heads": always(MATCHING_PENNIES, "heads")}),
    "kuhn": _known("kuhn", _KUHN, {"always_bet": always(_KUHN, "bet"), "equilibrium": _KUHN.equilibrium}),
    "mixup": _known("mixup", _MIXUP, {action: always(_MIXUP, action) for action in _MIXUP.actions}),
}
OWN_SETTINGS: Final[frozenset[str]] = frozenset().union(*(game.settings for game in GAMES.values()))
SOLVED: Final = tuple(name for name, entry in GAMES.items() if entry.table is not None)  # games with known answers


DialogueName = Literal["matching", "kuhn_text"]
DIALOGUE: Final[tuple[str, ...]] = get_args(DialogueName)
"""Dialogue games; what is known of them is loaded where one is asked for (``find_dialogue``)."""


def find_game(name: str) -> GameEntry:
    """The game of that name.

    Raises:
        UnknownNameError: there is none.
        GameError: it is a dialogue game, or one from outside that cannot be used, see ``selfplay.games.plugins``.
    """
    if name in DIALOGUE:
        raise GameError(f"{name} is a dialogue game, which is not played here (valid: {', '.join(sorted(GAMES))})")
    if name in GAMES:
        return GAMES[name]
    if plugins.is_plugin(name):
        return _outside_once(name)
    raise UnknownNameError("game", name, known_games(), "mock" if "melee" in name.lower() else None)


def known_games() -> tuple[str, ...]:
    """Names of all games, with those of installed packages."""
    return (*GAMES, *DIALOGUE, *plugins.installed())


def find_character(game: GameEntry, name: str) -> str:
    """The name of a character of a fight, which may be given by a short name.

    Raises:
        UnknownNameError: there is none.
        GameError: only the real game has it.
    """
    full = full_name(name)
    if full in game.characters:
        return full
    if full in _DOLPHIN.characters:
        title = TITLES.get(full, full)
        raise GameError(
            f"the mock has no data of {title}, only real games have (--game-type dolphin) "
            f"(valid: {', '.join(sorted(game.characters))})"
        )
    raise UnknownNameError("character", name, game.characters)


def find_stage(game: GameEntry, name: str) -> str:
    """The name of a stage of a fight, which may be given by a short name.

    Raises:
        UnknownNameError: there is none.
    """
    full = full_name(name)
    if full not in game.stages:
        raise UnknownNameError("stage", name, game.stages)
    return full


def find_dialogue(name: str) -> DialogueEntry:
    """The dialogue game of that name.

    Raises:
        UnknownNameError: there is none.
        GameError: it is no dialogue game, or what these games need is not installed.
    """
    if name in GAMES:
        raise GameError(f"{name} is no dialogue game (valid: {', '.join(sorted(DIALOGUE))})")
    if name not in DIALOGUE:
        raise UnknownNameError("game", name, (*GAMES, *DIALOGUE))
    try:
        from selfplay_dialogue import registry
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise GameError(f"{missing} is missing, which {name} needs: {install_command('dialogue')}") from error
    return registry.DIALOGUE[name]


def shares_policies(one: str, other: str) -> bool:
    """Return True if policies of one game can play the other: the same game, or two kinds of fights."""
    return one == other or (find_game(one).fighter and find_game(other).fighter)


def make_game(name: str, **options: Any) -> ScriptedGame:  # noqa: ANN401
    """A block of games; ``options`` are the keyword arguments of the game's constructor, JSON-able all of them."""
    return find_game(name).make(**options)
