import hashlib

import pytest

from envs.errors import DolphinError
from envs.melee.dolphin import disc as disc_module
from envs.melee.dolphin.disc import DISC_BYTES, judge_disc

MELEE = b"GALE01\x00\x02"


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
    monkeypatch.setattr(disc_module, "_CHUNK", 7)
    made = image(tmp_path / "melee.iso", MELEE + bytes(range(92)))
    md5 = hashlib.md5(made.read_bytes()).hexdigest()
    found = judge_disc(made, hash_it=True)
    assert found.level == "warning"
    assert md5 in found.text
    monkeypatch.setattr(disc_module, "DISC_MD5", md5)
    assert judge_disc(made, hash_it=True) == disc_module.Verdict("ok", "Melee 1.02 by its hash")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MELEE, "8 bytes instead of 1,459,978,240"),
        (b"GALE01\x00\x00", "revision 0"),
        (b"GALP01\x00\x00", "another game (GALP01)"),
        (b"PK\x03\x04 a zip archive", "no image of a GameCube disc"),
        (b"G", "no image of a GameCube disc"),
        (b"CISO" + bytes(0x8000 - 4) + b"GALE01\x00\x01", "revision 1"),
        (b"RVZ\x01" + bytes(20), "no image of a GameCube disc"),
    ],
)
def test_warnings_say_what_is_needed(tmp_path, data, expected):
    found = judge_disc(image(tmp_path / "melee.iso", data), hash_it=True)
    assert found.level == "warning"
    assert expected in found.text
    assert "Melee 1.02" in found.text or "make the image anew" in found.text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"CISO" + bytes(0x8000 - 4) + MELEE, "compressed (CISO)"),
        (b"RVZ\x01" + bytes(0x58 - 4) + MELEE, "compressed (RVZ)"),
        (b"WIA\x01" + bytes(0x58 - 4) + MELEE, "compressed (WIA)"),
        (b"\x01\xc0\x0b\xb1" + bytes(100), "compressed (GCZ)"),
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
