"""What a run of real games needs, and the line that says what is missing."""

import pytest

from selfplay.cli.ppo import parse
from selfplay.config.game_settings import game_settings
from selfplay.errors import ConfigError
from selfplay_melee.dolphin.disc import DISC_BYTES, DISC_MAGIC
from selfplay_melee.dolphin.paths import with_dolphin_paths

MELEE = b"GALE01\0\2".ljust(28, b"\0") + DISC_MAGIC

EXI_AI = ">&2 echo 'Faster Melee - Slippi (3.4.0) - ExiAI'; exit 1"
ISHIIRUKA = "echo 'Faster Melee - Slippi (3.4.0)'; exit 255"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with Dolphins that only tell what they are, and discs without a game."""
    for name, answer in (("exiai", EXI_AI), ("ishiiruka", ISHIIRUKA)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{answer}\n")
        (tmp_path / name).chmod(0o755)
    with (tmp_path / "melee.iso").open("wb") as file:
        file.write(MELEE)
        file.truncate(DISC_BYTES)
    (tmp_path / "short.iso").write_bytes(MELEE)
    (tmp_path / "melee.rvz").write_bytes(b"RVZ\x01".ljust(0x58, b"\0") + MELEE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def look(*arguments, dolphin="exiai", iso="melee.iso"):
    """What ``with_dolphin_paths`` gives and tells."""
    notes = []
    flags = ["--game-type", "dolphin", "--dolphin", dolphin, "--iso", iso, *arguments]
    return with_dolphin_paths(parse(flags).config, notes.append), notes


def test_paths_are_those_of_files_wherever_it_is_resumed(here):
    config, notes = look()
    assert (config.game.dolphin, config.game.iso) == (str(here / "exiai"), str(here / "melee.iso"))
    assert notes == []


def test_other_games_need_none_of_it():
    config = parse([]).config
    assert game_settings(config.game.type).complete(config, pytest.fail) is config


def test_an_unusual_disc_is_a_warning(here):
    (note,) = look(iso="short.iso")[1]
    assert note.startswith(f"--iso {here / 'short.iso'}: 32 bytes instead of")


@pytest.mark.parametrize(
    ("arguments", "places", "words"),
    [
        ((), {"dolphin": "nowhere"}, "--dolphin {here}/nowhere: does not exist; give Dolphin's executable"),
        ((), {"dolphin": "melee.iso"}, "--dolphin {here}/melee.iso: is not executable"),
        ((), {"iso": "nowhere.iso"}, "--iso {here}/nowhere.iso: does not exist; give your image"),
        ((), {"iso": "exiai"}, "--iso {here}/exiai: is no disc image"),
        ((), {"dolphin": "ishiiruka", "iso": "melee.rvz"}, "{here}/ishiiruka is Ishiiruka, which cannot read it"),
        (("--fast-forward",), {"dolphin": "ishiiruka"}, "--fast-forward needs an ExiAI build, which {here}/ishiiruka"),
        (("--headless",), {"dolphin": "ishiiruka"}, "--headless needs ExiAI or a mainline build made for it"),
        (("--human-port", "1"), {}, "--human-port needs a Dolphin with a window; {here}/exiai is ExiAI"),
    ],
)
def test_what_cannot_work_is_one_line(here, arguments, places, words):
    with pytest.raises(ConfigError) as caught:
        look(*arguments, **places)
    assert words.format(here=here) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_build_can_do_is_allowed(here):
    look("--fast-forward", "--headless")
    look("--human-port", "1", dolphin="ishiiruka")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "needs --dolphin PATH"), (["--dolphin", "exiai"], "needs --iso PATH")],
)
def test_what_was_not_given_is_named(here, arguments, words):
    with pytest.raises(ConfigError, match=f"--game-type dolphin {words}"):
        with_dolphin_paths(parse(["--game-type", "dolphin", *arguments]).config, pytest.fail)


def test_a_missing_driver_is_told_with_what_installs_it(here, monkeypatch):
    monkeypatch.setattr("selfplay_melee.dolphin.paths.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs libmelee: pip install -e '\.\[dolphin\]'"):
        look()
