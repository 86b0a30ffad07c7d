import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue import embedded
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.tiny import TinySpec
from selfplay.dialogue.recipe import Recipe
from selfplay.dialogue.settings import StartConfig
from tests.run.conftest import _short_waits, _torch_as_before  # noqa: F401  (fixtures)


def make_start(root, game, tokens, notice=lambda _: None, show_header=lambda _: None):
    """An embedded model that has been taught for a moment: it knows the form of a game, and nothing else."""
    entry = find_dialogue(game)
    recipe = Recipe(
        game,
        entry.configure(True, {}),
        StartConfig(tokens=tokens, mixed=(0.5, 0.0)),
        0,
        TinySpec(width=32, layers=2, heads=4, inner=64),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "SNAPSHOT_STATES", 16)
        patch.setattr(embedded, "SNAPSHOTS", 2)
        return embedded.embedded_model(entry, recipe, root, 1, notice, show_header)[1]


@pytest.fixture(scope="session")
def kuhn_start(tmp_path_factory):
    """Folder of a small model that has seen games of poker."""
    return make_start(tmp_path_factory.mktemp("starts"), "kuhn_text", 60_000)
