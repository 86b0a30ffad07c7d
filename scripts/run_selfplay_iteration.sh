#!/usr/bin/env bash
# Games, then training on them, again and again: data/matching_game_selfplay_iterations/iter_N/, each with its games,
# tables and checkpoint/, which plays the next. Finished steps with the same settings are skipped, half-written ones are
# done again, and other settings are refused. Variables, with their defaults:
#   INITIAL_MODEL=tiny  NUM_ITERATIONS=3  GAMES_PER_ITER=100  EPOCHS_PER_ITER=2
#   and those of the other two scripts but NUM_GAMES, EPOCHS and SERVER_URL; EXP_NAME=selfplay_iter
set -euo pipefail

here=$PWD
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=$(basename "$0")

refuse() {
  echo "$script: $*" >&2
  exit 2
}

# A variable that must be a whole number, 1 or more.
whole() {
  [[ ${!1} =~ ^[1-9][0-9]{0,8}$ ]] || refuse "$1=${!1}: must be a whole number, 1 or more"
}

# A variable that must be a number above 0 and not above a greatest one, where it is set.
above_zero() {
  [[ -z ${!1:-} || (${!1} =~ ^[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,3})?$ && $(awk "BEGIN {print (0 < ${!1} && ${!1} <= $2)}") == 1) ]] ||
    refuse "$1=${!1}: must be a number above 0, $2 at most"
}

# A path as seen from where the script was started; names of models stay names.
located() {
  if [[ $1 != /* && -d $here/$1 ]]; then echo "$here/$1"; else echo "$1"; fi
}

[[ ${DATA_DIR:-$root/data} == /* ]] || DATA_DIR=$here/$DATA_DIR
data=${DATA_DIR:-$root/data}
GAME=${GAME:-matching}
python=${PYTHON:-$root/.venv/bin/python}
[[ -x $python || -n ${PYTHON:-} ]] || python=python3
cd "$root" # models that are made here are kept in its checkpoints/

play() { # FOLDER MODEL GAMES EXP_NAME and further flags
  local folder=$1 model=$2 games=$3 name=$4
  shift 4
  "$python" scripts/generate_selfplay_games.py --folder "$folder" --model "$model" --num-games "$games" \
    --exp-name "$name" --games-per-state "$GAMES_PER_STATE" --max-length "$MAX_LENGTH" --temperature "$TEMPERATURE" \
    --game "$GAME" --seed "${SEED:-0}" ${GAME_SIZE:+--game-size "$GAME_SIZE"} \
    ${START_TOKENS:+--start-tokens "$START_TOKENS"} ${BASELINE:+--baseline "$BASELINE"} \
    ${MAX_NEW_TOKENS:+--max-new-tokens "$MAX_NEW_TOKENS"} ${BF16:+--bf16} ${SERVER:+--server "$SERVER"} \
    ${SERVER_ARGS:+"--server-args=$SERVER_ARGS"} ${SERVER_URL:+--server-url "$SERVER_URL"} "$@"
}

# Processes that train: one a GPU, or PROCESSES.
processes() {
  if [[ -n ${PROCESSES:-} ]]; then
    echo "$PROCESSES"
  elif [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
    tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -cE '^[^-]' || true
  else
    { nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU' || true
  fi
}

train() { # FOLDER EPOCHS and further flags
  local folder=$1 epochs=$2 count
  shift 2
  count=$(processes)
  local start=("$python")
  [[ $count -le 1 ]] || start=("$python" -m torch.distributed.run --standalone --nproc-per-node "$count")
  "${start[@]}" scripts/train_dialogue.py --folder "$folder" --epochs "$epochs" --batch-rows "$TRAIN_BATCH_SIZE" \
    --micro-rows "$MICRO_BATCH_SIZE" ${LEARNING_RATE:+--learning-rate "$LEARNING_RATE"} ${LORA_RANK:+--lora-rank "$LORA_RANK"} "$@"
}

generation_defaults() {
  GAMES_PER_STATE=${GAMES_PER_STATE:-8} MAX_LENGTH=${MAX_LENGTH:-100} TEMPERATURE=${TEMPERATURE:-0.7}
  whole GAMES_PER_STATE
  whole MAX_LENGTH
  above_zero TEMPERATURE 10
  [[ -z ${MAX_NEW_TOKENS:-} ]] || whole MAX_NEW_TOKENS
  [[ ${BF16:=} =~ ^[01]?$ ]] || refuse "BF16=$BF16: must be 1 or 0"
  BF16=${BF16#0}
}

training_defaults() {
  TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-64} MICRO_BATCH_SIZE=${MICRO_BATCH_SIZE:-8}
  whole TRAIN_BATCH_SIZE
  whole MICRO_BATCH_SIZE
  above_zero LEARNING_RATE 1
  [[ -z ${PROCESSES:-} ]] || whole PROCESSES
  [[ -z ${LORA_RANK:-} ]] || whole LORA_RANK
}

[[ ${BASH_SOURCE[0]} == "$0" ]] || return 0 # the other two scripts source the functions above

NUM_ITERATIONS=${NUM_ITERATIONS:-3} GAMES_PER_ITER=${GAMES_PER_ITER:-100} EPOCHS_PER_ITER=${EPOCHS_PER_ITER:-2}
for name in NUM_ITERATIONS GAMES_PER_ITER EPOCHS_PER_ITER; do
  whole "$name"
done
generation_defaults
training_defaults
[[ -z ${SERVER_URL:-} ]] ||
  refuse "SERVER_URL=$SERVER_URL: that server would play with the first model throughout; SERVER starts one for each"
model=$(located "${INITIAL_MODEL:-tiny}")
for ((i = 1; i <= NUM_ITERATIONS; i++)); do
  folder=$data/${GAME}_game_selfplay_iterations/iter_$i
  play "$folder" "$model" "$GAMES_PER_ITER" "${EXP_NAME:-selfplay_iter}" --iteration "$i" --resume
  "$python" scripts/convert_selfplay_to_verl.py --folder "$folder" --resume
  train "$folder" "$EPOCHS_PER_ITER" --resume
  model=$folder/checkpoint
done
