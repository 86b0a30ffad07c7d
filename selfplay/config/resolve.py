"""From what the user asked for to the one configuration that a call of a trainer works with.

Values come first, later ones win: defaults, ``--preset``, ``--config FILE.toml``, ``--set group.name=value``, flags
(``command_line.parse``). Then the steps below apply in their order. The folder of a new run is made after all of them,
so that a mistake leaves none behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from envs.registry import find_game
from selfplay.checkpoint.run_dir import check_writable_folder
from selfplay.config import dialogue, imitation
from selfplay.config.applicable import check_agreement, check_applicable, check_host
from selfplay.config.base import Group, StructureConfig
from selfplay.config.defaults import with_defaults
from selfplay.config.dialogue import DialogueConfig
from selfplay.config.dialogue_memory import check_dialogue_memory
from selfplay.config.dialogue_rules import game_of, with_embedded_folder
from selfplay.config.dolphin_paths import with_dolphin_paths
from selfplay.config.imitation import ImitationConfig
from selfplay.config.memory import check_memory
from selfplay.config.options import shown
from selfplay.config.pretrained import with_pretrained
from selfplay.config.resume import resumed_ppo, saved_config, with_changes
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.learner.advantages import refuse_single_games
from selfplay.machine import be_deterministic, pick_device
from selfplay.policy.network import check_spec, make_body

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.ppo import Config

Settings = TypeVar("Settings", bound=Group)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[Settings]):
    """Configuration, device and notices of a call of a trainer."""

    config: Settings
    device: str  # of torch
    notices: tuple[str, ...] = ()  # for the user, below the header


def resolve_ppo(config: Config, explicit: Mapping[str, Any], resumed: LearnerState | None = None) -> Resolved[Config]:
    """The configuration of a run of fights or of a solved game. Blocks.

    Args:
        config: What the user asked for, of a new run.
        explicit: The values that the user gave, by dotted name; of a resumed run only they count.
        resumed: State of the run that is resumed.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    notices: list[str] = []
    if resumed is not None:
        config = resumed_ppo(resumed, explicit)
    check_applicable(config, explicit)
    check_agreement(config, explicit)
    config = with_dolphin_paths(config, notices.append)
    if resumed is None:
        config = with_defaults(config)
        config = with_pretrained(config, explicit, notices.append)
    _check_network(config.net, config.game.entry.obs_width)
    check_memory(config, resumed=resumed is not None)
    device = pick_device(config.run.device)
    if config.run.deterministic:
        be_deterministic(device)
    return Resolved(config, device, tuple(notices))


def resolve_dialogue(
    config: DialogueConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None, newest: Path | None = None
) -> Resolved[DialogueConfig]:
    """The same of a run of dialogue games; ``newest`` is the folder of the newest generation of a resumed run."""
    if resumed is not None:
        config = with_changes(saved_config(resumed, DialogueConfig), explicit, dialogue.OPTIONS)
    if config.server.url is not None and not config.server.frozen:
        raise ConfigError(
            "--server-url: its server never gets the trained weights, so the games stay those of its own model; "
            "--server sglang or vllm starts one that gets them, and --server-frozen trains without that"
        )
    if newest is not None:
        config = with_embedded_folder(config, newest)
    check_host(config.run, explicit)
    if resumed is None:
        refuse_single_games(config.grpo.games_per_state, config.grpo.baseline)
    check_dialogue_memory(config, *game_of(config), resumed=resumed is not None)
    if resumed is None and config.server.program is not None:
        from selfplay.runner.serving import find_program  # needs an extra

        find_program(config.server.program)
    return Resolved(config, pick_device(config.run.device))


def resolve_imitation(
    config: ImitationConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> Resolved[ImitationConfig]:
    """The same of learning from replays."""
    if resumed is not None:
        # --checkpoint names the folder that holds the training, and stays what it was
        explicit = {path: value for path, value in explicit.items() if path != "run.checkpoint"}
        config = with_changes(saved_config(resumed, ImitationConfig), explicit, imitation.OPTIONS)
    else:
        game = find_game(config.data.game)
        _check_network(config.net, game.obs_width)
        check_writable_folder(Path(config.run.checkpoint), "--checkpoint")
    return Resolved(config, pick_device(config.run.device))


def _check_network(net: StructureConfig, obs_width: int) -> None:
    """Refuse widths that do not fit the backbone, and networks of the user's own that cannot be trained.

    Raises:
        ConfigError: they do not; names the flags.
    """
    if net.is_own:
        make_body(net.backbone, obs_width)
        return
    try:
        check_spec(net.spec(obs_width))
    except IncompatibleError as error:
        raise ConfigError(f"--backbone {net.backbone} with --hidden {shown(net.hidden)}: {error}") from error
