"""From what the user asked for to the one configuration that a call of a trainer works with, before torch is loaded.

Values come first, later ones win: defaults, ``--preset``, ``--config FILE.toml``, ``--set group.name=value``, flags
(``program.invoke``). Then the steps below apply in their order. The trainers do the rest, which needs torch: networks,
memory, and the device itself. The folder of a new run is made after all of them, so that a mistake leaves none behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import resolve_policy
from selfplay.checkpoint.run_dir import check_writable_folder
from selfplay.config import imitation
from selfplay.config.applicable import check_agreement, check_applicable, check_host, check_settings
from selfplay.config.defaults import with_defaults
from selfplay.config.imitation import ImitationConfig
from selfplay.config.ppo import SCRIPTED
from selfplay.config.resume import resumed_ppo, saved_config, with_changes
from selfplay.dialogue import settings as dialogue
from selfplay.dialogue.settings import DialogueConfig
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.learner.advantages import refuse_single_games
from selfplay.machine import check_device
from selfplay_melee.dolphin.paths import with_dolphin_paths
from selfplay_melee.replays.folder import replay_files

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.ppo import Config


def resolve_ppo(
    config: Config,
    explicit: Mapping[str, Any],
    resumed: LearnerState | None = None,
    notice: Callable[[str], object] = lambda _: None,
) -> Config:
    """The configuration of a run of games with actions by number. Blocks.

    Args:
        config: What the user asked for, of a new run.
        explicit: The values that the user gave, by dotted name; of a resumed run only they count.
        resumed: State of the run that is resumed.
        notice: Called with notices for the user, to be shown below the header.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    if resumed is not None:
        config = resumed_ppo(resumed, explicit)
    check_device(config.run.device)
    check_applicable(config, explicit)
    check_agreement(config, explicit)
    config = with_dolphin_paths(config, notice)
    if resumed is not None:
        return config
    for policy in (*config.league.opponents, config.run.pretrained):
        if policy not in (None, SCRIPTED):
            resolve_policy(Path(policy))
    return with_defaults(config)


def resolve_dialogue(
    config: DialogueConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> DialogueConfig:
    """The same of a run of dialogue games."""
    if resumed is not None:
        config = with_changes(saved_config(resumed, DialogueConfig), explicit, dialogue.OPTIONS)
    check_device(config.run.device)
    if config.server.url is not None and not config.server.frozen:
        raise ConfigError(
            "--server-url: its server never gets the trained weights, so the games stay those of its own model; "
            "--server sglang or vllm starts one that gets them, and --server-frozen trains without that"
        )
    check_host(config.run, explicit)
    if resumed is None:
        refuse_single_games(config.grpo.games_per_state, config.grpo.baseline)
    return config


def resolve_imitation(
    config: ImitationConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> ImitationConfig:
    """The same of learning from replays."""
    if resumed is not None:
        # --checkpoint names the folder that holds the training, and stays what it was
        explicit = {path: value for path, value in explicit.items() if path != "run.checkpoint"}
        config = with_changes(saved_config(resumed, ImitationConfig), explicit, imitation.OPTIONS)
    check_device(config.run.device)
    check_settings(config.data.game, explicit, imitation.OPTIONS)
    if resumed is not None:
        return config
    if config.data.replays is None:
        raise ConfigError(
            "--replays PATH is needed: a folder of .slp files, or a file of recorded games, to learn from"
        )
    check_writable_folder(Path(config.run.checkpoint), "--checkpoint")
    if find_game(config.data.game).fighter:
        replay_files(Path(config.data.replays))
    return config
