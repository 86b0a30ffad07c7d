"""Documents are strict."""

import math
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from selfplay.checkpoint import LearnerMeta, NetworkSpec, PolicyMeta, RunDir, load_generation, load_latest_learner
from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, encode_json, from_document, to_document
from selfplay.errors import CheckpointError, CorruptError, IncompatibleError
from tests.checkpoint.samples import learner_arrays, learner_meta, params, policy_meta, same

GOLDEN = Path(__file__).parent / "golden"


def test_documents_round_trip():
    for model, meta in ((PolicyMeta, policy_meta(7)), (LearnerMeta, learner_meta(7))):
        document = decode_json(encode_json(to_document(meta), "x"), "x")
        assert document["format_version"] == 1
        assert from_document(model, document, "x") == meta


def test_a_path_that_is_not_utf_8_round_trips():
    document = {"path": "games \udcff é"}
    assert decode_json(encode_json(document, "x"), "x") == document


def test_states_of_generators_keep_their_128_bits():
    state = learner_meta(3).rng
    assert (
        from_document(LearnerMeta, decode_json(encode_json(to_document(learner_meta(3)), "x"), "x"), "x").rng == state
    )


text = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(text, json_values, max_size=4))
def test_json_round_trip(document):
    assert decode_json(encode_json(document, "x"), "x") == document


def test_a_lone_surrogate_is_no_text():
    with pytest.raises(CheckpointError, match="surrogates"):
        encode_json({"a": "\ud800"}, "x")


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes", object()])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(CheckpointError, match=r"cannot write x\.json as JSON"):
        encode_json({"a": value}, "x.json")


def test_large_documents_are_refused():
    with pytest.raises(CorruptError, match="the limit is"):
        decode_json(b" " * (MAX_JSON_BYTES + 1), "x.json")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"id": "../gen_1"}, "id"),
        ({"id": ""}, "id"),
        ({"id": "gen_8"}, "gen_8 must be of iteration 8"),
        ({"iteration": -1}, "iteration"),
        ({"game": ""}, "game"),
        ({"body": {"delay": [1]}}, "body.delay"),
        ({"delay": 0}, "delay"),  # of an older format
        ({"created": "yesterday"}, "created"),
        ({"created": datetime(2026, 1, 1).isoformat()}, "created"),  # no time zone
        ({"weights_hash": "abc"}, "weights_hash"),
        ({"unknown": 1}, "unknown"),
        ({"network": {"kind": "mlp", "obs_width": 10**12}}, "network.obs_width"),
        ({"network": {"kind": "mlp", "obs_width": 4, "hidden": [1] * 100}}, "network.hidden"),
        ({"network": {"kind": "__import__('os')", "obs_width": 4}}, "network.kind"),
        ({"network": {"kind": "mlp", "obs_width": 4, "options": {"x": [1]}}}, "network.options"),
        ({"actions": {"binary": 8, "sizes": [0]}}, "actions.sizes"),
    ],
)
def test_bad_fields_are_named(changes, field):
    document = to_document(policy_meta(7)) | changes
    with pytest.raises(IncompatibleError, match=rf"policy\.json: .*{field}"):
        from_document(PolicyMeta, document, "policy.json")


def test_other_kinds_of_network_fit():
    spec = NetworkSpec(kind="lstm", obs_width=9, hidden=(64,), activation="relu", options={"layers": 2, "norm": True})
    assert NetworkSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_metadata_is_frozen():
    with pytest.raises(ValidationError):
        policy_meta(1).id = "gen_2"


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.0, True, [1]])
def test_a_document_must_say_its_version(version):
    document = to_document(policy_meta(1)) | {"format_version": version}
    with pytest.raises(IncompatibleError, match="format_version is"):
        from_document(PolicyMeta, document, "x")


def test_a_newer_version_is_refused():
    with pytest.raises(IncompatibleError, match=r"written by a newer selfplay \(format 2; this one reads up to 1\)"):
        from_document(PolicyMeta, to_document(policy_meta(1)) | {"format_version": 2}, "x")


def test_files_of_format_1_stay_readable(tmp_path):
    """Written once and kept, so that no change of the format goes unnoticed."""
    meta, arrays = load_generation(GOLDEN / "generations" / "gen_3")
    assert meta.model_copy(update={"weights_hash": None}) == policy_meta(3)
    assert same(arrays, params(3))
    state = load_latest_learner(RunDir(GOLDEN))
    assert state.meta == learner_meta(3)
    assert same(state.arrays, learner_arrays(3))
