"""Everything that a run leaves on disk: written atomically, verified on reading, never able to run code.

No torch here: parameters and optimizer state go in and out as numpy arrays by name. A failure is an error of the
``CheckpointError`` or ``ConfigError`` tree (``selfplay.errors``) that names the file and the reason.

The folder of a run
    RunDir(path)                       names every path: run_json, summary_json, log, metrics, generations, learner,
                                       ledger, events, lock_file; holds_run()
        .read_run() / .write_run(doc)  run.json as a JSON object; .read_summary() / .write_summary(doc) likewise
        .lock()                        context manager: the only trainer of this run, else RunLockedError; entering
                                       it also clears what crashed writes left behind
    create_run(path, is_default=False) a new RunDir; refuses a folder that holds a run (RunExistsError), or, for the
                                       default path, takes the next free name: self_play-2, self_play-3, ...
    check_folder(path, flag)           ConfigError where a file is in the way of a folder that a flag names
    find_newest_run(root)              RunDir with the latest activity below root, or None
    resolve_run(path=None, root=...)   RunDir of a path that holds a run; without a path the newest below root
    resolve_policy(path, root=...)     the policy folder meant by a path: itself, a run's newest generation,
                                       or the best policy of imitation
    find_policies(root)                every policy folder below root, newest first
    is_policy(path)                    whether a folder is one

Policies (a generation is a policy folder ``run/generations/gen_N``)
    PolicyMeta, NetworkSpec, ActionHeads          what policy.json holds (frozen pydantic)
    weights_hash(params) -> str                   sha256 over names, types, shapes and bytes
    save_policy(path, meta, params) -> Path       any policy folder (what imitation exports)
    save_generation(run, meta, params) -> Path    run/generations/gen_<iteration>; again with equal weights: no-op
    list_generations(run) -> list[Generation]     (id, iteration, path), by iteration; reads no weights
    load_generation(path) -> (PolicyMeta, params) hash verified
    set_aside_newer(run, iteration)               moves what is newer than the state that training resumes from

The state of training (``run/learner/iter_N``)
    LearnerMeta                                   iteration, total_steps, rng, matchmaker, opponents, ...
    write_learner(run, meta, arrays)              arrays by path-like names: "params/...", "optimizer/...",
                                                  "games/<runner id>/..."; one file for each first part;
                                                  structured arrays are welcome
    retain(run, iteration, Retention(...))        removes the states that nothing keeps
    save_learner(run, meta, arrays)               both: the newest two stay
    named_by_states(run) -> set[str]              generations and exploiters that some state goes on with
    load_latest_learner(run) -> LearnerState      .meta, .arrays, .path, .skipped (which newer ones were bad, and why)
    group(arrays, "games/runner-000")             the arrays below a prefix, with the prefix taken off

Reading back
    load_checkpoint(path) -> Checkpoint           .params, .model, .iteration, .total_steps, .config, .meta
"""

from __future__ import annotations

from selfplay.checkpoint.generations import (
    Generation,
    list_generations,
    load_generation,
    read_policy_meta,
    save_generation,
    save_policy,
    set_aside_newer,
    weights_hash,
)
from selfplay.checkpoint.learner_state import (
    LearnerState,
    group,
    has_state,
    load_latest_learner,
    named_by_states,
    retain,
    save_learner,
    write_learner,
)
from selfplay.checkpoint.loading import Checkpoint, load_checkpoint
from selfplay.checkpoint.policies import find_policies, is_policy, resolve_policy
from selfplay.checkpoint.retention import Retention
from selfplay.checkpoint.run_dir import RunDir, check_folder, create_run, find_newest_run, resolve_run
from selfplay.checkpoint.schema import ActionHeads, LearnerMeta, NetworkSpec, PolicyMeta

__all__ = [
    "ActionHeads",
    "Checkpoint",
    "Generation",
    "LearnerMeta",
    "LearnerState",
    "NetworkSpec",
    "PolicyMeta",
    "Retention",
    "RunDir",
    "check_folder",
    "create_run",
    "find_newest_run",
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
    "save_generation",
    "save_learner",
    "save_policy",
    "set_aside_newer",
    "weights_hash",
    "write_learner",
]
