"""Fields of the metadata of policies in tests."""

BODY = {
    "character": "mewtwo",
    "opponent_character": None,
    "stage": "final_destination",
    "max_episode_frames": 3600,
    "ledge_grab_limit": 60,
    "frame_skip": 4,
    "delay": 0,
}


def meta_fields(game="mock", **fields):
    """Fields with a ``body``, which takes those of fights in a fight and is empty in another game."""
    body = {name: fields.pop(name, value) for name, value in BODY.items()}
    return {"game": game, "body": body if game in ("mock", "dolphin") else {}, **fields}
