"""A folder of games as the first script leaves it, without a model that played them."""

from selfplay.dialogue.files.games import GAMES, write_games
from selfplay.dialogue.files.settings import write_settings
from tests.dialogue.chats import tiny_chat
from tests.dialogue.models import model_folder
from tests.dialogue.writers import Said, in_turn, played, settings_of

PLAYS = (("[pass]", "[pass]"), ("[pass]", "[bet]", "[pass]"), ("[bet]", "[pass]"), ("[bet]", "[bet]"))


def lines(states=3, replicas=4):
    """Games of Kuhn poker: each state played in several ways."""
    chat = tiny_chat("kuhn_text")
    return [
        played(
            in_turn(*map(Said, PLAYS[replica % len(PLAYS)])), chat, game="kuhn_text", seed=index, index=index,
            game_id=f"{index}-{replica}",
        )
        for index in range(states)
        for replica in range(replicas)
    ]  # fmt: skip


def written(folder, games=None, **changes):
    """The games and their settings; the model that is to learn from them lies beside."""
    model = model_folder(folder / "model") if not (folder / "model").exists() else folder / "model"
    made = lines() if games is None else games
    write_games(folder / GAMES, made)
    settings = settings_of("kuhn_text", **{"model": str(model), "games": len(made), "games_per_state": 4} | changes)
    write_settings(folder, settings)
    return settings
