"""Exports the latest and the best policy of a training as folders that self-play can start from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, RunDir, read_policy_meta, save_policy
from selfplay.checkpoint.policies import BEST, OWN_NAME, SHARED_NAME
from selfplay.errors import CheckpointError
from selfplay.games.registry import find_game
from selfplay.policy.policy import parameters_of

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.config.base import StructureConfig
    from selfplay.imitation.data import Games
    from selfplay.imitation.training_state import TrainingProgress
    from selfplay.learner.imitation_metrics import ImitationMetrics
    from selfplay.policy.network import ActorCritic

LATEST: Final = "latest"


def network_of(net: StructureConfig, name: str) -> tuple[NetworkSpec, ActionHeads]:
    game = find_game(name)
    actions = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
    return net.spec(game.obs_width), actions


def exported(parent: Path, which: str) -> Path:
    return parent / SHARED_NAME.format(which)


def kept(run: RunDir, which: str) -> Path:
    """The training's own copy of a policy, which no other training replaces."""
    return run.path / OWN_NAME.format(which)


def owner_of_best(run: RunDir) -> str | None:
    """A notice if the best policy there is of another training and will be replaced; None otherwise."""
    place = exported(run.path.parent, BEST)
    if (meta := _meta(place)) is None:
        return None
    owner = RunDir(run.path.parent / meta.id.removesuffix(f"_{BEST}"))
    copy = _meta(kept(owner, BEST))
    if owner == run and copy is not None:
        return None
    stays = copy is not None and copy.weights_hash == meta.weights_hash
    return f"{place} is of another training, {owner.path.name}, and will be replaced; " + (
        f"{kept(owner, BEST)} stays" if stays else "it is the only copy"
    )


def _meta(place: Path) -> PolicyMeta | None:
    """Metadata of the policy in a folder, or None."""
    try:
        return read_policy_meta(place)
    except CheckpointError:
        return None


def export(
    run: RunDir,
    which: str,
    games: Games,
    progress: TrainingProgress,
    network: ActorCritic,
    found: ImitationMetrics | None,
) -> Path:
    """Write a policy in place of the previous one, and a copy into the training's own folder.

    ``found`` are the metrics of these weights, or None.
    CheckpointError if it cannot be written; the previous policy is unchanged.
    """
    config, game, losses = games.config, games.config.data.game, _losses(found, games.config.data.game)
    spec, heads = network_of(config.net, game)
    meta = PolicyMeta(
        id=f"{run.path.name}_{which}",
        iteration=progress.epoch,
        total_steps=progress.rows,
        network=spec,
        actions=heads,
        encoder_version=find_game(game).encoder_version,
        game=game,
        body=dict(games.home.body),
        created=datetime.now(UTC),
        config={"imitation": {**config.model_dump(mode="json"), "replays": games.description(), "losses": losses}},
    )
    params = parameters_of(network)
    save_policy(kept(run, which), meta, params, replace=True)
    return save_policy(exported(run.path.parent, which), meta, params, replace=True)


def _losses(found: ImitationMetrics | None, game: str) -> dict[str, JsonValue]:
    """Losses on the validation games, nats per decision."""
    if found is None:
        return {}
    sides = {"policy": found.model, "repeat": found.repeat, "marginals": found.marginals}
    return {
        **{name: {"all": mean.all, "changed": mean.changed} for name, mean in sides.items()},
        "parts": dict(zip(find_game(game).part_names, found.parts, strict=True)),
        "accuracy": found.accuracy,
        "diversity": found.diversity,
    }
