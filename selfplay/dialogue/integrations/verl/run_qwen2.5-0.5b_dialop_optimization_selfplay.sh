#!/usr/bin/env bash
# run_dialop_selfplay_custom.sh with Qwen2.5-0.5B: one GPU is enough. Its variables and arguments hold here, too.
set -euo pipefail
export MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-0.5B-Instruct} EXP_NAME=${EXP_NAME:-qwen2.5-0.5b_dialop_selfplay}
exec "$(dirname "${BASH_SOURCE[0]}")/run_dialop_selfplay_custom.sh" actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4 "$@"
