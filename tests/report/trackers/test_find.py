import pytest

from selfplay.errors import ConfigError
from selfplay.games import plugins
from selfplay.games.errors import GameError
from selfplay.report.trackers import find
from selfplay.report.trackers.find import FILES, check_trackers, make_trackers
from tests.report.trackers.own import Kept

OWN = "tests.report.trackers.own"


@pytest.fixture(autouse=True)
def none_allowed(monkeypatch):
    monkeypatch.setattr(plugins, "_allowed", set())


def test_files_are_no_trackers():
    check_trackers(FILES)
    assert make_trackers((*FILES, *FILES)) == {}


def test_a_tracker_of_ones_own_has_to_be_allowed():
    name = f"{OWN}:Kept"
    with pytest.raises(GameError, match=f"is code that a file names.* add --report-to '?{name}"):
        check_trackers([name])
    plugins.allow(name)
    check_trackers([name])
    (made,) = make_trackers(["jsonl", name]).values()
    assert type(made).__name__ == Kept.__name__


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wanb", "--report-to wanb: .*did you mean .wandb.*module:Name"),
        (f"{OWN}:NOT_ONE", "a class derived from selfplay.Tracker is needed"),
        (f"{OWN}:RUN", "has no 'RUN'"),
        ("no_such_module:Name", "no_such_module"),
    ],
)
def test_what_cannot_be_used_is_refused(name, words):
    plugins.allow(name)
    with pytest.raises((ConfigError, GameError), match=words):
        check_trackers([name])


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_missing_package_names_the_command_that_installs_it(name, monkeypatch):
    monkeypatch.setattr(find, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=rf"--report-to {name} needs {name}.*pip install.*\[{name}\]"):
        check_trackers(["tensorboard", name])


def test_one_that_cannot_be_made_is_refused():
    plugins.allow(f"{OWN}:Unmakeable")
    with pytest.raises(ConfigError, match=r"Unmakeable: TypeError: .*project"):
        make_trackers([f"{OWN}:Unmakeable"])
