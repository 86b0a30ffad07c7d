"""Pages for tests, of policies that are made up."""

from dataclasses import replace
from importlib import resources
from itertools import pairwise

import numpy as np

from selfplay.policy.browser.weights import SCRIPTS
from selfplay.report.standalone_page import read_modules
from selfplay_melee.bot_names import NAMES
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.play.content import step_options
from selfplay_melee.play_page.page import Opponent, PlayContent, play_page

CHARACTERS = ("fox", "marth", "mewtwo")
STAGES = ("battlefield", "dreamland", "final_destination", "fountain_of_dreams", "pokemon_stadium", "yoshis_story")


def policy(name="gen_40", hidden=16, seed=0, **changes):
    """An opponent whose network has random weights."""
    heads = {"binary": ACTION_SPEC.binary, "sizes": list(ACTION_SPEC.sizes)}
    outputs = heads["binary"] + sum(heads["sizes"]) + 1
    widths = (OBS_WIDTH, hidden, hidden, outputs)
    layers = [
        {"kind": "dense", "inputs": i, "outputs": o, "activation": "none" if o == outputs else "tanh"}
        for i, o in pairwise(widths)
    ]
    count = sum(layer["outputs"] * (layer["inputs"] + 1) for layer in layers)
    weights = np.random.default_rng(seed).normal(0, 0.2, count).astype("<f4").tobytes()
    description = {
        "id": name, "weights_hash": "0" * 64, "encoder_version": ENCODER_VERSION, "obs_width": OBS_WIDTH,
        "frame_skip": 4, "heads": heads, "layers": layers,
    }  # fmt: skip
    opponent = Opponent(
        id=name, label=name, group="Generations", about="mlp", elo=2000.4, interval=(1900.0, None), generation=40,
        characters=("mewtwo", "mewtwo"), stage="battlefield", delay=6, frame_skip=4, description=description,
        weights=weights,
    )  # fmt: skip
    return replace(opponent, **changes)


def content(*policies, cap=400, **changes):
    scripted = [
        Opponent(id=name, label=name, group="Scripted", bot=number, rated=name != "idle")
        for number, name in enumerate(NAMES)
    ]
    made = PlayContent(
        title="Play against test",
        about="test",
        characters=CHARACTERS,
        stages=STAGES,
        opponents=[*policies, *scripted],
        options=step_options(cap, 60),
        policy_script=read_modules(resources.files("selfplay.policy.browser"), *SCRIPTS),
        defaults={"opponent": "idle", "characters": ["fox", "mewtwo"], "stage": "final_destination"},
        rated={"characters": ["mewtwo", "mewtwo"], "stage": "battlefield"},
        person="Ann",
    )
    return replace(made, **changes)


def write(path, *policies, **changes):
    path.write_text(play_page(content(*policies, **changes)), "utf-8")
    return path
