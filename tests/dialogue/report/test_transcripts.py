import pytest
from pydantic import ValidationError

from selfplay.dialogue.report.health import DialogueHealth
from selfplay.dialogue.report.page import SHOWN, transcripts, view
from selfplay.dialogue.report.transcripts import (
    FILE_NAME,
    FIRST,
    KEPT,
    LATEST,
    LONGEST,
    Transcript,
    kept,
    read_transcripts,
)
from selfplay.report.leaderboard_page.page import page
from tests.dialogue.report.talks import HOSTILE, rows, talked, transcript
from tests.report.test_board import Parsed


def test_what_is_written_is_read_and_what_is_broken_is_absent(tmp_path):
    good = transcript()
    lines = [good.row(), "{", good.row().replace('"best"', '"funny"'), '{"format": 2}', good.row()[:40]]
    (tmp_path / FILE_NAME).write_text("\n".join(lines))
    assert read_transcripts(tmp_path) == (good,)
    assert read_transcripts(tmp_path / "nowhere") == ()


def test_a_file_that_is_no_text_and_a_link_are_absent(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"\xff\xfe\x00")
    assert read_transcripts(tmp_path) == ()
    other = tmp_path / "other"
    other.mkdir()
    (other / "real").write_text(transcript().row())
    (other / FILE_NAME).symlink_to(other / "real")
    assert read_transcripts(other) == ()


@pytest.mark.parametrize(
    "change", [{"game": "x" * 101}, {"told": ("x" * (LONGEST + 1), "")}, {"rewards": (1.0, float("nan"))}]
)
def test_limits_hold(change):
    with pytest.raises(ValidationError):
        transcript(**change)


def test_the_first_stay_and_the_newest():
    known: tuple[Transcript, ...] = ()
    for iteration in range(10, 1010, 10):
        known = kept(known, tuple(transcript(iteration, kind) for kind in ("best", "worst", "random")))
    assert len(known) == KEPT
    assert [one.iteration for one in known[:FIRST]] == [10, 10, 10]
    assert known[-1].iteration == 1000


def test_an_iteration_that_is_played_again_has_one_place_and_what_followed_is_gone():
    known = tuple(transcript(iteration) for iteration in (10, 20, 30))
    assert [one.iteration for one in kept(known, (transcript(20, "worst"),))] == [10, 20]


def test_games_are_read_on_the_page_private_text_marked(tmp_path):
    parsed = Parsed(page(talked(tmp_path / "run", [transcript(10, "best"), transcript(10, "worst", reason="turns")])))
    for words in (
        "Games to read", "Best game of iteration 10: agreed, 2 turns, rewards 0.900 and 0.900",
        "Worst game of iteration 10: turns", "a secret thought", "Your table: 4 5 6", "seat 1, refused: Write a tag.",
        "Mean reward", "Reward, mean of both seats" , "No problems found",
    ):  # fmt: skip
        assert words in parsed.text or words in str(parsed.data), words
    assert "Games to watch" not in parsed.text
    raw = page(talked(tmp_path / "run", [transcript()]))
    assert '<pre class="private">a secret thought</pre>' in raw
    assert '<pre class="private">Your table: 1 2 3</pre>' in raw


def test_the_page_names_opponents(tmp_path):
    played = [transcript(10, "best", opponents=("", HOSTILE)), transcript(10, "worst")]
    parsed = Parsed(page(talked(tmp_path / "run", played)))
    assert f"seat 1 ({HOSTILE}), refused: Write a tag." in parsed.text
    assert "seat 1, refused: Write a tag." in parsed.text


def test_the_page_has_games_of_the_last_iteration_before_they_are_saved(tmp_path):
    (tmp_path / FILE_NAME).write_text(transcript(10).row())
    (tmp_path / LATEST).write_text(transcript(13, text="only now").row())
    assert "Best game of iteration 13" in view(tmp_path, "").reading
    (tmp_path / FILE_NAME).write_text("\n".join(transcript(i).row() for i in (10, 20)))
    assert "only now" not in view(tmp_path, "").reading  # of a run that went on


def test_hostile_text_stays_text(tmp_path):
    said = transcript(text=HOSTILE, reason=HOSTILE, told=(HOSTILE, HOSTILE))
    parsed = Parsed(page(talked(tmp_path / "run", [said])))
    plain = Parsed(page(talked(tmp_path / "run", [transcript()])))
    assert parsed.text.count(HOSTILE) == 4
    assert [tag for tag, _ in parsed.elements] == [tag for tag, _ in plain.elements]
    assert not [a for _, a in parsed.elements if any(name.startswith("on") for name in a)]


def test_a_page_has_so_many_games_and_the_first_ones():
    many = [transcript(10 * i, kind) for i in range(1, 21) for kind in ("best", "worst", "random")]
    text = transcripts(many)
    assert text.count("<details") == SHOWN
    assert "of iteration 10:" in text
    assert text.index("of iteration 200:") < text.index("of iteration 190:")
    assert text.count(" open>") == 1
    assert transcripts([]) == ""


def test_a_run_that_goes_on_is_judged_by_its_rows(tmp_path):
    going_on = talked(tmp_path / "a", metrics=rows(zero_variance=0.99))
    assert [finding.name for finding in going_on.records.health(DialogueHealth())] == ["nothing_to_compare"]
    assert talked(tmp_path / "b").records.health(DialogueHealth()) == ()
    assert talked(tmp_path / "c", metrics=[]).records.health(DialogueHealth()) is None
