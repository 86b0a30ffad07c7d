"""Settings in groups, and flags that set them: what the command lines of the trainings have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Group(BaseModel):
    """Settings that belong together; also the root, whose fields are such groups."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Option:
    """A flag of a command: everything else about it stands at the field that it sets, below the class's ``root``."""

    root: ClassVar[type[Group]]

    flag: str
    path: str  # group.name
    section: str
    metavar: str = ""

    @property
    def field(self) -> FieldInfo:
        """The setting."""
        group, _, name = self.path.partition(".")
        return groups(self.root)[group].model_fields[name]

    @property
    def default(self) -> Any:  # noqa: ANN401
        """Without a preset."""
        return self.field.default

    @property
    def is_switch(self) -> bool:
        """Whether the flag takes no value."""
        return isinstance(self.default, bool)


AnyOption = TypeVar("AnyOption", bound=Option)


def groups(root: type[Group]) -> dict[str, type[Group]]:
    """The groups of settings by name."""
    return {name: type(group) for name, group in root()}


def by_path(options: Iterable[AnyOption]) -> dict[str, AnyOption]:
    """The options by the setting that they set."""
    return {option.path: option for option in options}
