"""Super Smash Bros. Melee: one state, one controller, one observation for the mock, Dolphin and replays."""

UNCOMPILED = (  # folders without compiled rules: an edit there keeps the machine code
    "browser", "commands", "dolphin", "drawing", "imitation", "play", "play_page", "replays", "shipped", "show", "slp",
    "wasm",
)  # fmt: skip
