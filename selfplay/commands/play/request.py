"""Arguments of ``play``, checked before torch is loaded."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Final

from selfplay.checkpoint import RunDir, is_policy, list_generations, shipped_policies
from selfplay.checkpoint.generations import POLICY_FILE, read_policy_meta
from selfplay.checkpoint.run_dir import RUN_FILE, named_run, runs_under
from selfplay.commands.named_players import MOCK
from selfplay.errors import ConfigError, LeagueError
from selfplay.league.people import person_id
from selfplay.policy.played_game import game_of

LONGEST: Final = 24  # letters, as in ``view/choices.js``
DEFAULT_NAME: Final = "me"  # if the login has no usable name


def check_name(name: str) -> None:
    """Refuse a name that games and ratings cannot have.

    Raises:
        ConfigError: it is too long, or has letters that cannot be shown, or none from a to z and no digit.
    """
    if len(name) > LONGEST or not name.isprintable():
        raise ConfigError(f"--name: at most {LONGEST} letters that can be shown are possible")
    try:
        person_id(name)
    except LeagueError as error:
        raise ConfigError(f"--name: {error}") from None


def login_name() -> str:
    """The name of the user's login, where it is one that games can have."""
    try:
        name = getpass.getuser()[:LONGEST]
        check_name(name)
    except (OSError, KeyError, ImportError, ConfigError):  # a container may have users without a name
        return DEFAULT_NAME
    return name


def played_game(what: str | None) -> tuple[Path | None, str]:
    """The run or policy that was named, by default the newest run, and its game. Shipped policies have no folder.

    Raises:
        NotARunError: there is no such run or policy.
        CheckpointError: its newest policy file is damaged.
    """
    if what in shipped_policies() or (what is None and not runs_under()):
        return None, MOCK
    folder = named_run(what, (RUN_FILE, POLICY_FILE))
    policies = [folder] if is_policy(folder) else [generation.path for generation in list_generations(RunDir(folder))]
    return folder, game_of(read_policy_meta(policies[-1])) if policies else MOCK
