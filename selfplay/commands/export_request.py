"""Arguments of ``export``, checked before torch is loaded."""

from __future__ import annotations

from pathlib import Path

from envs.registry import find_game
from selfplay.checkpoint import read_policy_meta, resolve_policy
from selfplay.errors import ConfigError
from selfplay.policy.onnx_extra import check_onnx
from selfplay.policy.played_game import game_of
from selfplay.report.fight.saving import check_writable


def check_request(path: str | Path, kind: str, out: Path, observations: int) -> None:
    """Check that a policy can be exported; arguments as of ``export``.

    Raises:
        ConfigError: a file that cannot be written, no observation, or packages that are missing.
        CheckpointError: no policy there.
        GameError: its game cannot be used here.
    """
    if observations < 1:
        raise ConfigError(f"--check {observations}: at least 1 observation is needed")
    check_writable(out)
    find_game(game_of(read_policy_meta(resolve_policy(Path(path)))))
    if kind == "onnx":
        check_onnx()
