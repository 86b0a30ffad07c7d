"""The mock and the real game, as the trainer finds them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from selfplay.distribution import install_command
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.kind import GameKind, later
from selfplay.games.objective import OUTCOME
from selfplay.games.registry import find_game
from selfplay_melee import bot_names, rated
from selfplay_melee.controller import ACTION_SPEC, FIELDS
from selfplay_melee.dolphin import roster
from selfplay_melee.errors import DolphinError
from selfplay_melee.features import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.short_names import TITLES, full_name
from selfplay_melee.show.columns import COLUMNS
from selfplay_melee.tables import names_of

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame
    from selfplay.games.rated import Body


@dataclass(frozen=True, slots=True)
class FightKind(GameKind):
    """A game in which two characters fight on a stage."""

    characters: Collection[str] = ()
    stages: Collection[str] = ()

    def ladder_of(self, body: Body) -> tuple[str, ...]:
        """Scripted players that react about as fast as the policy."""
        slow = body.delay >= SLOW_FROM and self.ladder == bot_names.LADDER
        return bot_names.SLOW_LADDER if slow else self.ladder


SLOW_FROM: Final = 8  # frames of delay


def _dolphin(**options: Any) -> ScriptedGame:  # noqa: ANN401
    """The real game; what drives it is loaded only here."""
    try:
        from selfplay_melee.dolphin.game import DolphinMelee
    except ModuleNotFoundError as error:
        raise DolphinError(f"{error.name} is missing, which drives Dolphin: {install_command('dolphin')}") from error
    return DolphinMelee(**options)


NO_RUN_YET: Final = "There is no run yet: selfplay train --game-type mock --preset laptop trains one."
MOCK: Final = FightKind(
    make=later("selfplay_melee.mock", "MockMelee"),
    obs_width=OBS_WIDTH,
    actions=ACTION_SPEC,
    encoder_version=ENCODER_VERSION,
    ladder=bot_names.LADDER,
    shares="fights",
    declared=OUTCOME,
    body=rated.FightBody,
    show=later("selfplay_melee.commands.replay", "show"),
    verbs={verb: f"selfplay_melee.commands.cli.{verb}" for verb in ("play", "record", "watch")},
    agreed=("frame_skip", "delay"),
    settings=later("selfplay_melee.settings", "mock_settings"),
    aliases=("melee", "ssbm", "smash"),
    preset="laptop",
    columns=COLUMNS,
    health=later("selfplay_melee.show.health", "rules"),
    rated=rated.MOCK,
    match_flags=later("selfplay_melee.choices", "FightFlags"),
    sample=later("selfplay_melee.sample_games", "sample_games"),
    default_policy="champion",
    starts_at_once=later("selfplay_melee.mock", "rules_are_compiled"),
    prepare=later("selfplay_melee.mock", "compile_rules"),
    held_out=("counter_hitter", "all_rounder"),
    start=later("selfplay_melee.imitation.scripted", "start"),
    imitation=later("selfplay_melee.imitation.hook", "fights"),
    characters=names_of("characters"),
    stages=names_of("stages"),
    action_parts=FIELDS,
)
DOLPHIN: Final = replace(  # all that policies see and do is the same
    MOCK,
    make=_dolphin,
    rated=rated.DOLPHIN,
    ladder=("random", *roster.CPU),
    # A scripted player only needs a controller. A computer player of the game is chosen in a menu before an episode.
    training_players=bot_names.LADDER,
    starts_at_once=later("selfplay_melee.external_frames", "rules_are_compiled"),
    prepare=later("selfplay_melee.external_frames", "compile_rules"),
    host=later("selfplay_melee.dolphin.host", "DolphinHost"),
    compared_in="mock",
    settings=later("selfplay_melee.settings", "dolphin_settings"),
    preset=None,
    characters=tuple(roster.CHARACTERS),
)


def fight_kind(game: str) -> FightKind:
    """The fight of that name; GameError if it is another game."""
    kind = find_game(game)
    if not isinstance(kind, FightKind):
        raise GameError(f"{game} is no fight")
    return kind


def find_character(name: str, game: FightKind = MOCK) -> str:
    """The name of a character of a fight, which may be given by a short name.

    Raises:
        UnknownNameError: there is none.
        GameError: only the real game has it.
    """
    full = full_name(name)
    if full in game.characters:
        return full
    if full in DOLPHIN.characters:
        title = TITLES.get(full, full)
        raise GameError(
            f"the mock has no data of {title}, only real games have (--game-type dolphin) "
            f"(valid: {', '.join(sorted(game.characters))})"
        )
    raise UnknownNameError("character", name, game.characters)


def find_stage(name: str, game: FightKind = MOCK) -> str:
    """The name of a stage of a fight, which may be given by a short name.

    Raises:
        UnknownNameError: there is none.
    """
    full = full_name(name)
    if full not in game.stages:
        raise UnknownNameError("stage", name, game.stages)
    return full
