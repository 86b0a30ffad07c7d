"""Super Smash Bros. Melee: one state, one controller, one observation for the mock, Dolphin and replays."""
