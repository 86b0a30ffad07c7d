"""Everything that a run saves: written atomically, verified on reading, and never executed. No torch.

Arrays go in and out as numpy arrays by name. Failures are ``CheckpointError`` or ``ConfigError`` (``selfplay.errors``)
with the file and the reason. See ``run_dir`` for the layout of a run folder, ``documents`` for the JSON documents,
``generations`` for frozen policies, ``learner_state`` for the state of training, and ``store`` for the file format.
"""

from selfplay.checkpoint.documents import ActionHeads as ActionHeads
from selfplay.checkpoint.documents import LearnerMeta as LearnerMeta
from selfplay.checkpoint.documents import NetworkSpec as NetworkSpec
from selfplay.checkpoint.documents import PolicyMeta as PolicyMeta
from selfplay.checkpoint.generations import list_generations as list_generations
from selfplay.checkpoint.generations import load_generation as load_generation
from selfplay.checkpoint.generations import read_policy_meta as read_policy_meta
from selfplay.checkpoint.generations import save_policy as save_policy
from selfplay.checkpoint.generations import set_aside_newer as set_aside_newer
from selfplay.checkpoint.generations import weights_hash as weights_hash
from selfplay.checkpoint.learner_state import LearnerState as LearnerState
from selfplay.checkpoint.learner_state import Retention as Retention
from selfplay.checkpoint.learner_state import group as group
from selfplay.checkpoint.learner_state import has_state as has_state
from selfplay.checkpoint.learner_state import load_latest_learner as load_latest_learner
from selfplay.checkpoint.learner_state import named_by_states as named_by_states
from selfplay.checkpoint.learner_state import retain as retain
from selfplay.checkpoint.learner_state import save_learner as save_learner
from selfplay.checkpoint.learner_state import write_learner as write_learner
from selfplay.checkpoint.policies import Checkpoint as Checkpoint
from selfplay.checkpoint.policies import find_policies as find_policies
from selfplay.checkpoint.policies import is_policy as is_policy
from selfplay.checkpoint.policies import load_checkpoint as load_checkpoint
from selfplay.checkpoint.policies import resolve_policy as resolve_policy
from selfplay.checkpoint.policies import shipped_policies as shipped_policies
from selfplay.checkpoint.run_dir import RunDir as RunDir
from selfplay.checkpoint.run_dir import check_new_run as check_new_run
from selfplay.checkpoint.run_dir import check_writable_folder as check_writable_folder
from selfplay.checkpoint.run_dir import create_run as create_run
from selfplay.checkpoint.run_dir import resolve_run as resolve_run
