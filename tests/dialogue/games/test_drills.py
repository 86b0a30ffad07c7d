import pytest

pytest.importorskip("scipy", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue.contract import Drill
from selfplay.dialogue.replies import parse_reply
from selfplay_dialogue.drills import MESSAGES, matching_drills
from selfplay_dialogue.states import LAPTOP, MatchingRules
from selfplay_dialogue.texts import KINDS, facts_in, parse_proposal, partner_reply

TOLD_NOTHING = MatchingRules(table="triples", told="nothing")


@pytest.mark.parametrize("rules", [LAPTOP, TOLD_NOTHING, MatchingRules()], ids=["laptop", "8x8", "8x8 csv"])
@pytest.mark.parametrize("talk", [False, True])
def test_what_is_taught_is_a_proposal(rules, talk):
    for drill in matching_drills(rules, range(20), talk):
        reply = parse_reply(drill.wrote[-1], KINDS)
        assert reply.kind == "propose"
        assert isinstance(parse_proposal(reply.body, rules), tuple)
        assert len(drill.read) == len(drill.wrote)


def test_without_talk_there_is_one_reply():
    assert {len(drill.wrote) for drill in matching_drills(LAPTOP, range(50), talk=False)} == {1}


def test_talk_comes_from_both_sides_and_has_all_lengths():
    drills = matching_drills(LAPTOP, range(200), talk=True)
    lengths = [len(drill.wrote) for drill in drills]
    assert set(lengths) >= set(range(2, MESSAGES + 2))
    assert lengths.count(1) < 10  # a seat that sees nothing has nothing to say
    for drill in (drill for drill in drills if len(drill.wrote) > 1):
        assert all(parse_reply(text, KINDS).kind == "message" for text in drill.wrote[:-1])
        told = [partner_reply(text) for text in drill.read]
        assert any(reply.kind == "message" and facts_in(LAPTOP, reply.body) for reply in told)


def test_a_drill_follows_from_its_seed_alone():
    assert matching_drills(LAPTOP, [3, 4], talk=True)[1] == matching_drills(LAPTOP, [4], talk=True)[0]
    assert matching_drills(LAPTOP, [3], talk=True) != matching_drills(LAPTOP, [4], talk=True)


def test_what_was_heard_counts():
    """What a seat reads grows beyond its own table."""
    drill = matching_drills(LAPTOP, [0], talk=True)[0]
    assert isinstance(drill, Drill)
    facts = facts_in(LAPTOP, " ".join(drill.read))
    assert len(facts) > len(facts_in(LAPTOP, drill.read[0].partition("\n")[0]))
