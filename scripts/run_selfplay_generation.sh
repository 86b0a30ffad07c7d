#!/usr/bin/env bash
# Games of a model with itself, and tables of them: data/matching_game_selfplay/{selfplay_games.jsonl,train.parquet,
# val.parquet}. Earlier files move to previous/. Variables, with their defaults:
#   MODEL_NAME=tiny  NUM_GAMES=100  GAMES_PER_STATE=8  MAX_LENGTH=100  TEMPERATURE=0.7  EXP_NAME=selfplay_gen
#   MAX_NEW_TOKENS (of a reply; 24 with tiny, else 512)  BF16 (1: forward passes in bfloat16)  GAME=matching
#   GAME_SIZE (4 with tiny, else 8)  SEED=0  START_TOKENS  BASELINE=group  DATA_DIR=data  PYTHON
#   SERVER (sglang or vllm: started with the model)  SERVER_ARGS (its arguments)  SERVER_URL (one that runs)
source "$(dirname "${BASH_SOURCE[0]}")/run_selfplay_iteration.sh"

NUM_GAMES=${NUM_GAMES:-100}
whole NUM_GAMES
generation_defaults
folder=$data/${GAME}_game_selfplay
play "$folder" "$(located "${MODEL_NAME:-tiny}")" "$NUM_GAMES" "${EXP_NAME:-selfplay_gen}"
"$python" scripts/convert_selfplay_to_verl.py --folder "$folder"
