"""The policy network that settings describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfplay.checkpoint import NetworkSpec
from selfplay.config.options import shown
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.policy.network import check_spec, make_body

if TYPE_CHECKING:
    from selfplay.checkpoint.documents import Scalar
    from selfplay.config.base import StructureConfig


def network_spec(net: StructureConfig, obs_width: int) -> NetworkSpec:
    if net.is_own:
        return NetworkSpec(kind=net.backbone, obs_width=obs_width, hidden=())
    options: dict[str, Scalar] = {"window": net.window} if net.backbone == "attention" else {}
    return NetworkSpec(
        kind=net.backbone, obs_width=obs_width, hidden=net.hidden, activation=net.activation, options=options
    )


def check_network(net: StructureConfig, obs_width: int) -> None:
    """Refuse widths that do not fit the backbone, and networks of the user's own that cannot be trained.

    Raises:
        ConfigError: they do not; names the flags.
    """
    if net.is_own:
        make_body(net.backbone, obs_width)
        return
    try:
        check_spec(network_spec(net, obs_width))
    except IncompatibleError as error:
        raise ConfigError(f"--backbone {net.backbone} with --hidden {shown(net.hidden)}: {error}") from error
