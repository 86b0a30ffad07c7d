#!/usr/bin/env bash
# Trains the model that played the games of run_selfplay_generation.sh on them; leaves it in
# data/matching_game_selfplay/checkpoint/. Uses the GPUs that CUDA_VISIBLE_DEVICES shows, all of them where it is not
# set. Variables, with their defaults:
#   TRAIN_BATCH_SIZE=64 (rows)  MICRO_BATCH_SIZE=8 (rows, of a GPU)  EPOCHS=2  LEARNING_RATE (by the model's preset)
#   LORA_RANK (trains an adapter of this rank)  GAME=matching  DATA_DIR=data  PROCESSES (one a GPU)  PYTHON
source "$(dirname "${BASH_SOURCE[0]}")/run_selfplay_iteration.sh"

EPOCHS=${EPOCHS:-2}
whole EPOCHS
training_defaults
folder=$data/${GAME}_game_selfplay
[[ -f $folder/train.parquet ]] || refuse "$folder/train.parquet: no data to train on; run_selfplay_generation.sh makes it"
train "$folder" "$EPOCHS"
