"""The state of an embedded model whose training was interrupted, in a folder beside that of the finished model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import torch
from pydantic import BaseModel, Field, NonNegativeInt

from selfplay.checkpoint import group
from selfplay.checkpoint.documents import decode_json, encode_json, parse
from selfplay.checkpoint.store import open_folder, remove_folder, write_folder
from selfplay.checkpoint.tensors import decode_arrays, encode_arrays
from selfplay.errors import CorruptError, boundary
from selfplay.run.learner_state import Arrays, learner_arrays, restore_learner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfplay.dialogue.supervised import SupervisedLearner

_DOCUMENT, _ARRAYS, _BEST = "state.json", "state.safetensors", "best"
_MAX_BYTES: Final = 2**20  # of the document
_WORD: Final = 2**64
MOST_TAKEN: Final = 1000  # far above the batches of a buffer


class Snapshot(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Evaluation of the model during training."""

    tokens: NonNegativeInt
    loss: float  # recent mean, nats per token
    reward: float  # mean, of seat 0
    agreed: float  # share


class Partial(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Progress of an unfinished training."""

    read: NonNegativeInt = 0  # tokens
    seconds: float = 0.0
    losses: tuple[float, ...] = ()  # of the last steps
    snapshots: tuple[Snapshot, ...] = ()
    made: NonNegativeInt = 0  # rows before the last buffer of batches
    done: float = 0.0  # share of the training when that buffer was made
    taken: Annotated[int, Field(ge=0, le=MOST_TAKEN)] = 0  # batches of that buffer


def partial_folder(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-partial")


def save_partial(
    folder: Path, partial: Partial, learner: SupervisedLearner, best: dict[str, torch.Tensor], rows: np.random.Generator
) -> None:
    """Write the state beside ``folder``, that of the finished model; replaces an older one.

    ``best`` are the weights of the best snapshot, ``rows`` is the generator before the last buffer of batches.

    Raises:
        CheckpointError, LearnerError: it cannot be written, or a weight is not finite.
    """
    arrays: Arrays = learner_arrays(learner, torch.Generator())
    arrays |= {f"{_BEST}/{name}": tensor.cpu().numpy() for name, tensor in best.items()}
    arrays["rng/rows"] = _numbers(rows)
    path = partial_folder(folder)
    files = {
        _DOCUMENT: encode_json(partial.model_dump(mode="json"), _DOCUMENT),
        _ARRAYS: encode_arrays(arrays, str(path / _ARRAYS)),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_folder(path, files, replace=True)


def load_partial(
    folder: Path, learner: SupervisedLearner, rows: np.random.Generator
) -> tuple[Partial, dict[str, torch.Tensor]] | None:
    """Put a state back into the learner and the generator; the progress and the best weights. None if there is none.

    CheckpointError if it is damaged.
    """
    path = partial_folder(folder)
    if not path.is_dir():
        return None
    stored = open_folder(path)
    partial = parse(Partial, decode_json(stored.read(_DOCUMENT, _MAX_BYTES), str(path)), str(path), CorruptError)
    arrays = decode_arrays(stored.read(_ARRAYS), str(path / _ARRAYS))
    with boundary(CorruptError, str(path)):
        best = {name: torch.from_numpy(array) for name, array in group(arrays, _BEST).items()}
        _restore(rows, arrays["rng/rows"])
        restore_learner(learner, torch.Generator(), arrays)  # last, so that an error leaves the learner as it was
    return partial, best


def remove_partial(folder: Path) -> None:
    path = partial_folder(folder)
    if path.is_dir():
        remove_folder(path)


def _numbers(generator: np.random.Generator) -> NDArray[np.uint64]:
    state: Any = generator.bit_generator.state
    big = [part for word in (state["state"]["state"], state["state"]["inc"]) for part in divmod(word, _WORD)]
    return np.array([*big, state["has_uint32"], state["uinteger"]], np.uint64)


def _restore(generator: np.random.Generator, numbers: NDArray[Any]) -> None:
    high, low, inc_high, inc_low, has_uint32, uinteger = map(int, numbers)
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high * _WORD + low, "inc": inc_high * _WORD + inc_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
