#!/usr/bin/env bash
# GRPO self-play with verl: whole games of the reviewer-paper matching inside its rollouts. Works from any directory.
# Further arguments go to verl as they are (data.train_batch_size=64). Variables, with their defaults:
#   MODEL_PATH=Qwen/Qwen2.5-7B-Instruct  ENGINE=sglang (or vllm)  N_GPUS (those of CUDA_VISIBLE_DEVICES; 1 to 8)
#   TENSOR_PARALLEL=1  GAMES_PER_STATE=8  TRAIN_BATCH_SIZE=32 (states)  TEMPERATURE=0.7  LEARNING_RATE=1e-6
#   NUM_TRAIN=1000  NUM_TEST=100  EXP_NAME=dialop_selfplay  DATA_DIR=data/dialop_optimization_data  PYTHON
set -euo pipefail

here=$PWD
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$folder/../../.." && pwd)

refuse() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

visible() { # GPUs that may be used
  if [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
    tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -cE '^[^-]' || true
  else
    { nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU' || true
  fi
}

MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-7B-Instruct} ENGINE=${ENGINE:-sglang} N_GPUS=${N_GPUS:-$(visible)}
TENSOR_PARALLEL=${TENSOR_PARALLEL:-1} GAMES_PER_STATE=${GAMES_PER_STATE:-8} TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-32}
TEMPERATURE=${TEMPERATURE:-0.7} LEARNING_RATE=${LEARNING_RATE:-1e-6}
NUM_TRAIN=${NUM_TRAIN:-1000} NUM_TEST=${NUM_TEST:-100} EXP_NAME=${EXP_NAME:-dialop_selfplay}
DATA_DIR=${DATA_DIR:-$root/data/dialop_optimization_data}
[[ $DATA_DIR == /* ]] || DATA_DIR=$here/$DATA_DIR
[[ ! -d $here/$MODEL_PATH ]] || MODEL_PATH=$here/$MODEL_PATH
python=${PYTHON:-$root/.venv/bin/python}
[[ -x $python || -n ${PYTHON:-} ]] || python=python3

for name in TENSOR_PARALLEL GAMES_PER_STATE TRAIN_BATCH_SIZE NUM_TRAIN NUM_TEST; do
  [[ ${!name} =~ ^[1-9][0-9]{0,8}$ ]] || refuse "$name=${!name}: must be a whole number, 1 or more"
done
[[ $ENGINE == sglang || $ENGINE == vllm ]] || refuse "ENGINE=$ENGINE: must be sglang or vllm"
[[ $N_GPUS =~ ^[1-8]$ ]] || refuse "N_GPUS=$N_GPUS: 1 to 8 GPUs are needed; CUDA_VISIBLE_DEVICES says which"
((N_GPUS % TENSOR_PARALLEL == 0)) || refuse "TENSOR_PARALLEL=$TENSOR_PARALLEL: must divide the $N_GPUS GPUs"
((GAMES_PER_STATE > 1)) || refuse "GAMES_PER_STATE=1: a game alone has nothing to be compared with, and teaches nothing"

if [[ ! -f $DATA_DIR/train.parquet ]]; then
  "$python" "$root/scripts/dialop_game_init.py" --output_dir "$DATA_DIR" --num_train "$NUM_TRAIN" --num_test "$NUM_TEST"
fi
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
exec "$python" -m verl.trainer.main_ppo --config-path "$folder" --config-name dialop_selfplay_custom_grpo \
  data.train_files="$DATA_DIR/train.parquet" data.val_files="$DATA_DIR/test.parquet" \
  data.train_batch_size="$TRAIN_BATCH_SIZE" \
  actor_rollout_ref.model.path="$MODEL_PATH" \
  actor_rollout_ref.actor.optim.lr="$LEARNING_RATE" \
  actor_rollout_ref.actor.ppo_mini_batch_size="$TRAIN_BATCH_SIZE" \
  actor_rollout_ref.rollout.name="$ENGINE" \
  actor_rollout_ref.rollout.n="$GAMES_PER_STATE" \
  actor_rollout_ref.rollout.temperature="$TEMPERATURE" \
  actor_rollout_ref.rollout.val_kwargs.temperature="$TEMPERATURE" \
  actor_rollout_ref.rollout.tensor_model_parallel_size="$TENSOR_PARALLEL" \
  actor_rollout_ref.rollout.agent.agent_loop_config_path="$folder/dialop_selfplay_agent.yaml" \
  trainer.n_gpus_per_node="$N_GPUS" trainer.experiment_name="$EXP_NAME" "$@"
