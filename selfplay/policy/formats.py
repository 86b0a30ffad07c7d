"""A network as a file of another program: ONNX, or a graph of ``torch.export``.

Such a graph makes one decision for N players: ``obs`` [N, D], and of networks that remember ``memory`` [N, M], to
``logits`` [N, L], ``value`` [N] and, of those, ``memory_out`` [N, M]; all float32, N left open.

Both are made in memory and read back from there. A file of ``torch.export`` from elsewhere is never read: parts of that
format are pickles, which run code when they are loaded.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn

from selfplay.policy.onnx_extra import check_onnx

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from selfplay.policy.network import ActorCritic

Decide = Callable[[Tensor, Tensor], tuple[Tensor, ...]]
"""Observations [N, D] and memory [N, M] to logits, values and the memory after it, as ``ActorCritic.step``."""
OUTPUTS: Final = ("logits", "value", "memory_out")
ABOUT: Final = "selfplay.json"  # name of the description inside a file of torch.export
_TRACED: Final = 2  # players while the graph is recorded: any number but 1, which would be taken for a constant


class _Decision(nn.Module):
    """Module to trace for a recurrent network: one step as its forward pass."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.network.step(obs, memory)


def to_torch(network: ActorCritic, about: Mapping[str, object]) -> bytes:
    """A file of ``torch.export`` (.pt2), with the description inside."""
    buffer = io.BytesIO()
    with _quiet():
        torch.export.save(_recorded(network), buffer, extra_files={ABOUT: json.dumps(about)})
    return buffer.getvalue()


def read_torch(data: bytes, memory_width: int) -> Decide:
    """Load the bytes that ``to_torch`` has just made. Never call it with other data, see the module."""
    with _quiet():
        graph = torch.export.load(io.BytesIO(data)).module()

    def decide(obs: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        return graph(obs, memory) if memory_width else (*graph(obs), memory)

    return decide


def to_onnx(network: ActorCritic, about: Mapping[str, object]) -> bytes:
    """An ONNX file; the description goes into its metadata, what is no text as JSON."""
    check_onnx()
    inputs = ["obs", "memory"] if network.memory_width else ["obs"]
    with _quiet():
        program = torch.onnx.export(
            _recorded(network),
            dynamo=True,
            input_names=inputs,
            output_names=OUTPUTS[: len(inputs) + 1],
            dynamic_shapes={name: {0: "N"} for name in inputs},
            verbose=False,
        )
        if program is None:
            raise RuntimeError("torch.onnx gave no model")
        model = program.model_proto
    for key, value in about.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value if isinstance(value, str) else json.dumps(value)
    data: bytes = model.SerializeToString()
    return data


def read_onnx(data: bytes, memory_width: int) -> Decide:
    """The graph, run by ONNX Runtime on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def decide(obs: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        given = {"obs": obs.numpy()} | ({"memory": memory.numpy()} if memory_width else {})
        found = tuple(torch.from_numpy(array) for array in session.run(None, given))
        return found if memory_width else (*found, memory)

    return decide


def _recorded(network: ActorCritic) -> ExportedProgram:
    rows = {0: torch.export.Dim("N", min=1)}
    obs = torch.zeros(_TRACED, network.spec.obs_width)
    if network.memory_width:
        program = torch.export.export(
            _Decision(network), (obs, network.first_memory(_TRACED)), dynamic_shapes={"obs": rows, "memory": rows}
        )
    else:
        program = torch.export.export(network, (obs,), dynamic_shapes={"obs": rows})
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # names folders of this machine
    return program


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the remarks that torch makes about itself while it exports."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


Writer = Callable[["ActorCritic", Mapping[str, Any]], bytes]
Reader = Callable[[bytes, int], Decide]
FORMATS: Final[dict[str, tuple[Writer, Reader]]] = {"onnx": (to_onnx, read_onnx), "torch": (to_torch, read_torch)}
"""By name: what makes the content of a file, and what plays it."""
