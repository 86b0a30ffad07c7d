import signal
import threading

import pytest

from selfplay.dialogue import embedded
from selfplay.dialogue.models import read_model, weights_of
from selfplay.dialogue.partial import partial_folder
from tests.dialogue.conftest import make_start
from tests.support.cases import first_alone
from tests.support.processes import LIMIT_S

TOKENS = 20_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The model of a training that was not interrupted."""
    return make_start(tmp_path_factory.mktemp("whole"), "kuhn_text", TOKENS)


def interrupted(root, number, after, told):
    """Train until the ``after``-th notice of progress, then raise a signal."""

    def notice(text):
        told.append(text)
        if "about" in text and sum("about" in line for line in told) == after:
            signal.raise_signal(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "NOTICE_S", 0.0)  # after every step
        return make_start(root, "kuhn_text", TOKENS, notice, lambda lines: told.extend(lines))


@pytest.mark.parametrize(
    ("number", "error"), first_alone([(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
)
def test_an_interrupted_training_goes_on_to_the_same_model(whole, tmp_path, number, error):
    for after in (1, 20):  # early, and where a snapshot may be kept
        told = []
        with pytest.raises(error) as ended:
            interrupted(tmp_path, number, after, told)
        assert told[-1].startswith("Stopped, and saved what was taught")
        if error is SystemExit:
            assert ended.value.code == 128 + number
        assert [path.name for path in (tmp_path / "tiny").iterdir()] == [partial_folder(whole).name]
    told = []
    folder = make_start(tmp_path, "kuhn_text", TOKENS, told.append)
    assert told[0].startswith("Going on with an interrupted training, at ")
    assert weights_of(folder) == weights_of(whole)
    assert read_model(folder).config["looks"] == read_model(whole).config["looks"]
    assert not partial_folder(folder).exists()


def test_the_settings_and_the_time_left_are_told_from_the_first_step_on(tmp_path):
    told = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, signal.SIGINT, 1, told)
    assert told[0] == "═══ Teaching the Embedded Model ═══"
    assert "    Tokens: 20,000" in told
    (first,) = (line for line in told if line.startswith("Teaching "))
    assert f"of {TOKENS:,} tokens" in first
    assert first.endswith(" left")


def test_a_damaged_state_is_not_used(whole, tmp_path):
    told = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, signal.SIGINT, 1, told)
    (file,) = (tmp_path / "tiny").glob("*/state.safetensors")
    file.write_bytes(file.read_bytes()[:-8])
    again = []
    folder = make_start(tmp_path, "kuhn_text", TOKENS, again.append)
    assert again[0].endswith("it is taught from the beginning")
    assert weights_of(folder) == weights_of(whole)


def test_it_is_taught_in_a_thread_too(tmp_path):
    made = []
    thread = threading.Thread(target=lambda: made.append(make_start(tmp_path, "kuhn_text", 2_000)))
    thread.start()
    thread.join(LIMIT_S)
    assert made
