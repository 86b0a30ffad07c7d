"""Settings that Optuna proposes. Its study lives in this process; what a sweep keeps are its own files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from selfplay.distribution import install_command
from selfplay.errors import ConfigError
from selfplay.seeding import derive
from selfplay.sweep.space import Range, Values

if TYPE_CHECKING:
    from selfplay.sweep.space import Space

TRIES: Final = 100  # proposals of a setting that is there already, before the search ends
SEEDS: Final = 2**32  # of Optuna's samplers


def check_optuna() -> None:
    """ConfigError with the command that installs Optuna, if it is missing."""
    if find_spec("optuna") is None:
        raise ConfigError(f"method optuna needs Optuna: {install_command('optuna')}")


def propose(space: Space, seed: int, told: Sequence[tuple[Values, float | None]], count: int) -> list[Values]:
    """At most ``count`` new settings, from the strength of those before; None stands for a failed one.

    The same arguments give the same settings. Fewer than ``count`` come where hardly any are left.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=derive(seed, "optuna", len(told)) % SEEDS)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    kinds = {name: _distribution(optuna, values) for name, values in space.swept.items()}
    for values, strength in told:
        study.add_trial(
            optuna.trial.create_trial(
                params={name: _to_optuna(space, name, value) for name, value in values.items()},
                distributions=kinds,
                value=strength,
                state=optuna.trial.TrialState.FAIL if strength is None else optuna.trial.TrialState.COMPLETE,
            )
        )
    known, found = [values for values, _ in told], list[Values]()
    for _ in range(count * TRIES):
        if len(found) == count:
            break
        params = study.ask(kinds).params
        values = {name: _from_optuna(space, name, params[name]) for name in space.swept}
        if values not in known and values not in found:
            found.append(values)
    return found


def _distribution(optuna: Any, values: Any) -> Any:  # noqa: ANN401
    if not isinstance(values, Range):
        return optuna.distributions.CategoricalDistribution(list(range(len(values))))
    kind = optuna.distributions.IntDistribution if values.whole else optuna.distributions.FloatDistribution
    return kind(values.low, values.high, log=values.log)


def _to_optuna(space: Space, name: str, value: Any) -> Any:  # noqa: ANN401
    values = space.swept[name]
    return value if isinstance(values, Range) else values.index(value)  # a list is no category of Optuna's


def _from_optuna(space: Space, name: str, param: Any) -> Any:  # noqa: ANN401
    values = space.swept[name]
    return param if isinstance(values, Range) else values[param]
