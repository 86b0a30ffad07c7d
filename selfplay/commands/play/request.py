"""Names of people who play, checked before torch is loaded."""

from __future__ import annotations

import getpass
from typing import Final

from selfplay.errors import ConfigError, LeagueError
from selfplay.league.people import person_id

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
