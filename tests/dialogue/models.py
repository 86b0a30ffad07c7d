"""Small embedded models in folders of their own."""

from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache

import selfplay.dialogue.language.loading  # noqa: F401  (keeps the thread of a progress bar away)
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.tiny import TinySpec, make_tiny
from selfplay.dialogue.models import ModelMeta, save_model

SPEC = TinySpec(width=16, layers=1, heads=2, inner=16, context=256)


@cache
def untaught(game="kuhn_text", seed=1):
    """A model that knows nothing. In Kuhn poker, whose words are few, what it writes is legal often enough."""
    entry = find_dialogue(game)
    return make_tiny(SPEC, entry.vocabulary(entry.configure(True, {})), seed)


def model_folder(path, game="kuhn_text", seed=1):
    """Its folder, as a run leaves it."""
    rules = asdict(find_dialogue(game).configure(True, {}))
    meta = ModelMeta(id="start", game=game, rules=rules, base="tiny", created=datetime.now(UTC))
    return save_model(path, meta, untaught(game, seed).save)
