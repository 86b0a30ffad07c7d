#!/usr/bin/env bash
# run_dialop_selfplay_custom.sh with Qwen2.5-7B, whose optimiser waits in the main memory while games are played: for
# four to eight GPUs of 80 GB. Its variables and arguments hold here, too.
set -euo pipefail
export MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-7B-Instruct} EXP_NAME=${EXP_NAME:-qwen2.5-7b_dialop_selfplay}
exec "$(dirname "${BASH_SOURCE[0]}")/run_dialop_selfplay_custom.sh" \
  actor_rollout_ref.actor.fsdp_config.optimizer_offload=true actor_rollout_ref.ref.fsdp_config.param_offload=true "$@"
