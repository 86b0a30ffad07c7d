"""One process of several that make updates: ``python one_of_several.py NUMBER PROCESSES FOLDER MICRO_ROWS...``.

Weights and statistics after each update are left in the folder.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from selfplay.learner.sharding import ShardedModel
from tests.dialogue.learner.token_models import TinyTransformer, games_of, update, weights


def main(number: int, processes: int, folder: Path, sizes: list[int]) -> None:
    torch.set_num_threads(1)
    groups = games_of(TinyTransformer())
    distributed.init_process_group("gloo", init_method=(folder / "meeting").as_uri(), rank=number, world_size=processes)
    for micro_rows in sizes:
        stats, trained = train(groups, micro_rows, shared=True)
        np.save(folder / f"{number}_{micro_rows}.npy", trained)
        (folder / f"{number}_{micro_rows}.json").write_text(json.dumps(stats))
    distributed.destroy_process_group()


def train(groups, micro_rows, *, shared=False):
    """Statistics and weights after an update."""
    module = TinyTransformer()
    several = ShardedModel(module, "cpu") if shared else None
    if several is not None:
        assert sum(each.to_local().numel() for each in module.parameters()) < 0.6 * weights(TinyTransformer()).numel()
    stats = update(
        module, groups, advantage="grpo", epochs=2, batch_rows=16, micro_rows=micro_rows, entropy=0.01, truncate=1.5,
        kl=0.1, reference=TinyTransformer(seed=9), shared=several,
    )  # fmt: skip
    if several is not None:
        several.gather()
    return asdict(stats), weights(module).numpy()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), list(map(int, sys.argv[4:])))
