"""Policies of a training: the one of now and the best so far, each as a folder that self-play starts from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from envs.melee.controller import FIELDS
from envs.registry import find_game
from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, save_policy
from selfplay.policy.policy import parameters_of
from selfplay.trainer.session import network_spec

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir
    from selfplay.learner.likeness import Likeness
    from selfplay.policy.network import ActorCritic
    from selfplay.trainer.imitation.config import ImitationConfig
    from selfplay.trainer.imitation.data import Games
    from selfplay.trainer.imitation.standing import Standing

GAME: Final = "mock"  # a replay's observations and actions are those of the fight
LATEST, BEST = "latest", "best"


def network_of(config: ImitationConfig) -> tuple[NetworkSpec, ActionHeads]:
    """Structure of the policy."""
    game = find_game(GAME)
    actions = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
    return network_spec(config.net, game.obs_width), actions


def exported(parent: Path, which: str) -> Path:
    """Where users find a policy."""
    return parent / f"imitation_{which}_policy"


def export(
    run: RunDir, which: str, games: Games, standing: Standing, network: ActorCritic, found: Likeness | None
) -> Path:
    """Write a policy where users find it, in the place of the one before, and a copy into the training's own folder.

    ``found`` is what is known of these very weights; None: nobody has looked yet.

    Raises:
        CheckpointError: it cannot be written; what was there before is untouched.
    """
    config = games.config
    spec, heads = network_of(config)
    meta = PolicyMeta(
        id=f"{run.path.name}_{which}",
        iteration=standing.epoch,
        total_steps=standing.rows,
        network=spec,
        actions=heads,
        encoder_version=find_game(GAME).encoder_version,
        frame_skip=config.data.frame_skip,
        delay=config.data.delay,
        characters=games.characters,
        stage=games.stage,
        created=datetime.now(UTC),
        config={
            "game": {"type": GAME},
            "imitation": {**config.model_dump(mode="json"), "replays": games.description(), "losses": _losses(found)},
        },
    )
    params = parameters_of(network)
    save_policy(run.path / f"{which}_policy", meta, params, replace=True)
    return save_policy(exported(run.path.parent, which), meta, params, replace=True)


def _losses(found: Likeness | None) -> dict[str, JsonValue]:
    """In nats a decision, on the games that judge."""
    if found is None:
        return {}
    sides = {"policy": found.model, "repeat": found.repeat, "marginals": found.marginals}
    return {
        **{name: {"all": mean.all, "changed": mean.changed} for name, mean in sides.items()},
        "parts": dict(zip(FIELDS, found.parts, strict=True)),
        "diversity": found.diversity,
    }
