"""One process of several that make one update: ``python one_of_several.py NUMBER PROCESSES MICRO_ROWS FOLDER``.

With one process nothing is set up. Weights and statistics are left in the folder; those that a process begins with are
its own, but for the first's.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from tests.learner.token_models import TinyTransformer, games_of, update, weights


def main(number: int, processes: int, micro_rows: int, folder: Path) -> None:
    torch.set_num_threads(1)
    groups = games_of(TinyTransformer())  # before processes divide what is scored among them
    if processes > 1:
        distributed.init_process_group(
            "gloo", init_method=(folder / "meeting").as_uri(), rank=number, world_size=processes
        )
    module = TinyTransformer(seed=number)
    stats = update(
        module, groups, advantage="grpo", epochs=2, batch_rows=16, micro_rows=micro_rows, entropy=0.01, truncate=1.5,
        kl=0.1, reference=TinyTransformer(seed=9), threads=1 + number,
    )  # fmt: skip
    np.save(folder / f"{number}.npy", weights(module).numpy())
    (folder / f"{number}.json").write_text(json.dumps(asdict(stats)))
    if processes > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]))
