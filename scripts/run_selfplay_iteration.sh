#!/usr/bin/env bash
# Games, then training on them, again and again: data/matching_game_selfplay_iterations/iter_N/, each with its games,
# tables and checkpoint/, which plays the next. Finished steps with the same settings are skipped, half-written ones are
# done again, and other settings are refused. Variables, with their defaults:
#   INITIAL_MODEL=tiny  NUM_ITERATIONS=3  GAMES_PER_ITER=100  EPOCHS_PER_ITER=2
#   and those of the other two scripts but NUM_GAMES and EPOCHS; EXP_NAME=selfplay_iter
source "$(dirname "${BASH_SOURCE[0]}")/selfplay_shell.sh"

NUM_ITERATIONS=${NUM_ITERATIONS:-3} GAMES_PER_ITER=${GAMES_PER_ITER:-100} EPOCHS_PER_ITER=${EPOCHS_PER_ITER:-2}
for name in NUM_ITERATIONS GAMES_PER_ITER EPOCHS_PER_ITER; do
  whole "$name"
done
generation_defaults
training_defaults
model=$(located "${INITIAL_MODEL:-tiny}")
for ((i = 1; i <= NUM_ITERATIONS; i++)); do
  folder=$data/${GAME}_game_selfplay_iterations/iter_$i
  play "$folder" "$model" "$GAMES_PER_ITER" "${EXP_NAME:-selfplay_iter}" --iteration "$i" --resume
  "$python" scripts/convert_selfplay_to_verl.py --folder "$folder" --resume
  train "$folder" "$EPOCHS_PER_ITER" --resume
  model=$folder/checkpoint
done
