"""Everything that a run saves: written atomically, verified on reading, and never executed. No torch.

Arrays go in and out as numpy arrays by name. Failures are ``CheckpointError`` or ``ConfigError`` (``selfplay.errors``)
with the file and the reason. See ``run_dir`` for the layout of a run folder, ``documents`` for the JSON documents,
``generations`` for frozen policies, ``learner_state`` for the state of training, and ``store`` for the file format.
"""

from selfplay.checkpoint.documents import ActionHeads, LearnerMeta, NetworkSpec, PolicyMeta
from selfplay.checkpoint.generations import (
    list_generations,
    load_generation,
    read_policy_meta,
    save_policy,
    set_aside_newer,
    weights_hash,
)
from selfplay.checkpoint.learner_state import (
    LearnerState,
    Retention,
    group,
    has_state,
    load_latest_learner,
    named_by_states,
    retain,
    save_learner,
    write_learner,
)
from selfplay.checkpoint.policies import (
    Checkpoint,
    find_policies,
    is_policy,
    load_checkpoint,
    resolve_policy,
    shipped_policies,
)
from selfplay.checkpoint.run_dir import RunDir, check_new_run, check_writable_folder, create_run, resolve_run

__all__ = [
    "ActionHeads",
    "Checkpoint",
    "LearnerMeta",
    "LearnerState",
    "NetworkSpec",
    "PolicyMeta",
    "Retention",
    "RunDir",
    "check_new_run",
    "check_writable_folder",
    "create_run",
    "find_policies",
    "group",
    "has_state",
    "is_policy",
    "list_generations",
    "load_checkpoint",
    "load_generation",
    "load_latest_learner",
    "named_by_states",
    "read_policy_meta",
    "resolve_policy",
    "resolve_run",
    "retain",
    "save_learner",
    "save_policy",
    "set_aside_newer",
    "shipped_policies",
    "weights_hash",
    "write_learner",
]
