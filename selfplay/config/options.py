"""Flags that set settings, and what stands beside a setting: its default, its description, its marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from selfplay.config.base import Group, Mark

Flag = tuple[str, str, str]  # a flag, the setting ``group.name``, and the metavar of its value ("" for a switch)


def flags(group: str, **metavars: str) -> tuple[Flag, ...]:
    """Flags with the names of their settings in a group, each with its metavar."""
    return tuple((f"--{name.replace('_', '-')}", f"{group}.{name}", metavar) for name, metavar in metavars.items())


LENGTH_FLAGS: Final = flags(
    "run", timesteps="N", max_minutes="F", num_games="N", checkpoint="PATH", save_interval="N", seed="N"
)
LEAGUE_FLAGS: Final = (
    ("--mode", "league.mode", "MODE"),
    ("--opponent", "league.opponents", "PATH,PATH"),
    ("--held-out", "league.held_out", "NAME"),
    *flags("league", track_elo="", rating_share="F"),
)
PLACE_FLAGS: Final = flags("run", device="NAME", host="HOST", runners="N", ray_address="HOST", report_to="NAMES")
FAULT_FLAGS: Final = flags("run", chaos="PLAN")


@dataclass(frozen=True, slots=True)
class Option:
    """A flag of a command: everything else about it stands at the field that it sets, below ``root``."""

    root: type[Group]
    section: str  # of the help
    flag: str
    path: str  # group.name
    metavar: str

    @property
    def field(self) -> FieldInfo:
        return field_of(self.root, self.path)

    @property
    def default(self) -> Any:  # noqa: ANN401
        """Without a preset."""
        return self.field.default

    @property
    def is_switch(self) -> bool:
        return isinstance(self.default, bool)


def options(root: type[Group], sections: Mapping[str, Sequence[Flag]]) -> tuple[Option, ...]:
    """The options of a command, by section of its help."""
    return tuple(Option(root, section, *flag) for section, flags in sections.items() for flag in flags)


def groups(root: type[Group]) -> dict[str, type[Group]]:
    return {name: type(group) for name, group in root()}


def without_flag(root: type[Group], options: Sequence[Option]) -> dict[str, str]:
    """How to give each setting that has no flag, by its name as a flag without dashes."""
    flagged = {option.path for option in options}
    return {path.partition(".")[2].replace("_", "-"): f"--set {path}" for path in paths(root) if path not in flagged}


def paths(root: type[Group]) -> list[str]:
    """All settings, by dotted name."""
    return [f"{group}.{name}" for group, settings in groups(root).items() for name in settings.model_fields]


def field_of(root: type[Group], path: str) -> FieldInfo:
    group, _, name = path.partition(".")
    return groups(root)[group].model_fields[name]


def value_of(config: Group, path: str) -> Any:  # noqa: ANN401
    group, _, name = path.partition(".")
    return getattr(getattr(config, group), name)


def marked(root: type[Group], *marks: Mark) -> tuple[str, ...]:
    """The settings, by dotted name, that have one of the marks, themselves or with their whole group."""
    return tuple(
        f"{group}.{name}"
        for group, settings in groups(root).items()
        for name, field in settings.model_fields.items()
        if any(mark in settings.marks or mark in field.metadata for mark in marks)
    )


def flag_of(options: Sequence[Option], path: str) -> str:
    """Command-line spelling of a setting: its flag, or ``--set`` and its dotted name."""
    return next((option.flag for option in options if option.path == path), f"--set {path}")


def shown(value: object) -> str:
    """A value as it is given to a flag or ``--set``."""
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def changed(config: Group, paths: Collection[str]) -> dict[str, object]:
    """Those of the settings ``paths`` that differ from their default."""
    values = {path: value_of(config, path) for path in paths}
    return {path: value for path, value in values.items() if value != field_of(type(config), path).default}


def listed(config: Group, hidden: Collection[str]) -> list[tuple[str, str]]:
    """All settings but the ``hidden`` ones that differ from their default, each with its value, for the header."""
    texts = {path: shown(value_of(config, path)) for path in paths(type(config)) if path not in hidden}
    return [(path, text) for path, text in texts.items() if text != shown(field_of(type(config), path).default)]
