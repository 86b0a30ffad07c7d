import hashlib

import pytest

from selfplay_melee.dolphin import disc as disc_module
from selfplay_melee.dolphin.disc import DISC_BYTES, DISC_MAGIC, judge_disc
from selfplay_melee.errors import DolphinError

MELEE = b"GALE01\x00\x02".ljust(28, b"\0") + DISC_MAGIC


def image(path, data, size=0):
    path.write_bytes(data)
    if size:
        with path.open("r+b") as file:
            file.truncate(size)  # sparse: takes no space
    return path


def test_full_size_without_hash(tmp_path):
    found = judge_disc(image(tmp_path / "melee.iso", MELEE, DISC_BYTES), hash_it=False)
    assert found.level == "ok"
    assert "not hashed" in found.text


def test_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(disc_module, "DISC_BYTES", 100)
    made = image(tmp_path / "melee.iso", MELEE + bytes(range(68)))
    md5 = hashlib.md5(made.read_bytes()).hexdigest()
    found = judge_disc(made, hash_it=True)
    assert found.level == "warning"
    assert md5 in found.text
    monkeypatch.setattr(disc_module, "DISC_MD5", md5)
    assert judge_disc(made, hash_it=True) == disc_module.Verdict("ok", "Melee 1.02 by its hash")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MELEE, "32 bytes instead of 1,459,978,240"),
        (MELEE.replace(b"\x02", b"\x00", 1), "revision 0"),
        (MELEE.replace(b"GALE", b"GALP"), "another game (GALP01)"),
        (b"RSBE01".ljust(24, b"\0") + b"\x5d\x1c\x9e\xa3" + bytes(4), "another game (RSBE01)"),
        (b"CISO" + bytes(0x8000 - 4) + MELEE.replace(b"\x02", b"\x01", 1), "revision 1"),
        (b'{"seed": 3}', "settings of the stand-in"),
    ],
)
def test_warnings_say_what_is_needed(tmp_path, data, expected):
    found = judge_disc(image(tmp_path / "melee.iso", data), hash_it=True)
    assert found.level == "warning"
    assert expected in found.text
    assert "Melee 1.02" in found.text or "make the image again" in found.text


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04 a zip archive",
        b"README of my discs, which is a text file",
        b"GALE01\x00\x02",
        b"CISO" + bytes(0x9000),
        b"RVZ\x01" + bytes(20),
        b"{ no settings",
        bytes(1000),
    ],
)
def test_what_is_no_disc_image_is_refused(tmp_path, data):
    with pytest.raises(DolphinError, match="is no disc image") as caught:
        judge_disc(image(tmp_path / "melee.iso", data), hash_it=False)
    assert str(caught.value).startswith(f"{tmp_path / 'melee.iso'}: ")
    assert "\n" not in str(caught.value)
    assert "ISO or GCM" in str(caught.value) or "no JSON either" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"CISO" + bytes(0x8000 - 4) + MELEE, "compressed (CISO)"),
        (b"RVZ\x01" + bytes(0x58 - 4) + MELEE, "compressed (RVZ)"),
        (b"WIA\x01" + bytes(0x58 - 4) + MELEE, "compressed (WIA)"),
        (b"\x01\xc0\x0b\xb1" + bytes(100), "compressed (GCZ)"),
        (b"\xae\x0f\x38\xa2" + bytes(100), "compressed (TGC)"),
    ],
)
def test_compressed_images_are_fine(tmp_path, data, expected):
    found = judge_disc(image(tmp_path / "melee.img", data), hash_it=True)
    assert found.level == "ok"
    assert expected in found.text
    assert found.mainline_only == (data[:3] in (b"RVZ", b"WIA"))


def test_no_file(tmp_path):
    with pytest.raises(DolphinError, match="does not exist"):
        judge_disc(tmp_path / "melee.iso", hash_it=True)
