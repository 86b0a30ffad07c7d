"""Mistakes on the command line: one clear line, exit code 2, and neither torch nor Numba is loaded for it."""

import json
import os
import sys
from pathlib import Path

import pytest

from selfplay.verbs import verb_names
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
LONG = "a" * 300
SEEDED = (
    "evaluate walker random", "rate", "record --bot walker", "behaviour --policy strong", "watch strong",
    "play --game-type kuhn", "initial-states --output_dir x",
)  # fmt: skip
MISTAKES = [
    ("trian", "did you mean train?"),
    ("enjoy", "did you mean watch?"),
    ("zzz", "is no verb; see --help"),
    # flags: words of the field
    ("train --lr 1", "--lr: did you mean --learning-rate?"),
    ("train --n-steps 4", "--n-steps: did you mean --rollout-length?"),
    ("train --clip-range 1", "--clip-range: did you mean --ppo-clip?"),
    ("train --clip-coef 1", "--clip-coef: did you mean --ppo-clip?"),
    ("train --ent-coef 1", "--ent-coef: did you mean --entropy?"),
    ("train --env mock", "--env: did you mean --game-type?"),
    ("train --game mock", "--game: did you mean --game-type?"),
    ("train --num-envs 8", "--num-envs: did you mean --num-games?"),
    ("train --total-timesteps=8", "--total-timesteps: did you mean --timesteps?"),
    ("train --gpu", "--gpu: did you mean --device cuda?"),
    ("train --cuda", "--cuda: did you mean --device cuda?"),
    ("train --wandb", "unknown flag --wandb: did you mean --report-to wandb?"),
    ("train --log-dir x", "--log-dir: did you mean --checkpoint?"),
    ("train --output x", "--output: did you mean --checkpoint?"),
    ("train --sweep x.toml", "--sweep: many settings are trained by selfplay sweep FILE.toml"),
    ("train --quiet", "--quiet: send the output to a file"),
    ("train --learning_rate 1", "did you mean --learning-rate?"),
    ("train --n-epochs 3", "did you mean --ppo-epochs?"),
    ("train --zzzzz", "unknown flag --zzzzz; see --help"),
    ("train kuhn", "did you mean --game-type kuhn?"),
    ("imitate --lr 1", "did you mean --learning-rate?"),
    ("exploit x --output y", "did you mean --out?"),
    ("watch nowhere", "nowhere holds no run"),
    ("watch --out fight.avi", "unknown kind of file '.avi'"),
    ("watch --out /dev/null/fight.gif", "cannot write /dev/null/fight.gif"),
    ("play nowhere", "nowhere holds no run"),
    ("play --port 80", "--port goes with --serve"),
    ("play --serve --port 70000", "--port 70000: 0 to 65535 are possible"),
    ("play --serve --out page.html", "--out is for a page without a server"),
    ("play --name !!", "--name: '!!' cannot be a player's name"),
    ("play --add game.json --serve", "--serve is for a new page"),
    ("play strong --add nowhere.json", "cannot read nowhere.json"),
    ("leaderboard --play", "--play goes with --html and a run"),
    ("watch --render human", "unknown flag --render: did you mean --terminal?"),
    # who cannot fight, and files that cannot be written
    ("watch strong walker rusher", "two players fight, of which strong is one; 2 others are named"),
    ("watch strong walkr", "did you mean 'walker'?"),
    ("watch run a b c", "two players fight, 3 are named"),
    ("watch run gen_7", "has no gen_7"),
    (f"watch --out {LONG}.gif", "File name too long"),
    ("watch strong --out /proc/no/fight.gif", "cannot write /proc/no/fight.gif"),
    ("play strong --out /proc/no/page.html", "cannot write /proc/no/page.html"),
    (f"play strong --out {LONG}", "File name too long"),
    (f"export strong --format torch --out {LONG}", "File name too long"),
    ("exploit strong --out /proc/no/runs", "--out /proc/no/runs: /"),
    ("record --bot walker --out /proc/no/games", "--out /proc/no/games: /"),
    ("record --game-type kuhn --players random --out /proc/no/x", "cannot write /proc/no/x"),
    (f"record --game-type kuhn --players random --out {LONG}", "File name too long"),
    ("generate-games --folder /proc/no", "--folder /proc/no: /"),
    # another game than that of the run, policy or file
    ("evaluate strong walker --game-type kuhn", "strong plays mock, not kuhn"),
    ("export strong --format torch --out x --game-type kuhn", "strong plays mock, not kuhn"),
    ("exploit strong --game-type kuhn", "strong plays mock, not kuhn"),
    ("play strong --game-type kuhn", "strong plays mock, not kuhn"),
    ("play --game-type kuhn", "run plays mock, not kuhn"),
    ("play strong --game-type dolphin", "strong plays mock, not dolphin"),
    ("watch strong --game-type kuhn", "strong plays mock, not kuhn"),
    ("watch game.slp --game-type kuhn", "game.slp plays mock, not kuhn"),
    ("rate run --game-type kuhn", "checkpoints/run plays mock, not kuhn"),
    ("rate run --game-type kun", "unknown game 'kun'; did you mean 'kuhn'?"),
    ("leaderboard run --game-type kuhn", "checkpoints/run plays mock, not kuhn"),
    ("leaderboard --games lr.toml --game-type kuhn", "without RUN, --settings and --game-type"),
    ("selfcheck kuhn", "did you mean --games kuhn?"),
    # values of flags
    ("train --game-type melee", "did you mean mock or dolphin?"),
    ("train --game-type pettingzoo.classic.go_v5", "did you mean 'pettingzoo:pettingzoo.classic.go_v5'?"),
    ("check-game pettingzoo.classic.go_v5", "did you mean 'pettingzoo:pettingzoo.classic.go_v5'?"),
    ("train --game-type mok", "--game-type mok: unknown, did you mean mock? (valid: mock, "),
    ("train --stage battelfield", "did you mean battlefield?"),
    ("train --stage zzz", "--stage zzz: unknown (valid: "),
    ("train --character ics", "the mock has no data of the Ice Climbers"),
    ("train --opponent-character doc", "--opponent-character doc: the mock has no data of Dr. Mario"),
    ("train --mode simple", "did you mean simple_mix?"),
    ("train --preset lap", "did you mean laptop?"),
    ("train --host thraed", "--host thraed: unknown, did you mean thread? (valid: auto, thread, process, ray)"),
    ("train --num-games x", "--num-games x: a whole number is needed"),
    ("train --num-games 0", "--num-games 0: at least 1 is needed"),
    ("train --gamma 2", "--gamma 2: at most 1 is possible"),
    ("train --hidden 4,x", "--hidden x: a whole number is needed"),
    ("train --checkpoint", "--checkpoint needs a value: PATH"),
    ("train --checkpoint full", "full is not empty and holds no run"),
    ("train --device cuda:x", "--device cuda:x: unknown"),
    ("train --pretrained nowhere", "nowhere holds no policy"),
    ("train --opponent nowhere", "nowhere holds no policy"),
    ("train --resume --checkpoint nowhere", "nowhere holds no run"),
    ("train --ray-address auto", "add --host ray"),
    # settings without a flag
    ("train --step-kl 0.5", "unknown flag --step-kl: did you mean --set ppo.step_kl?"),
    ("train --gate-bounds=-5,30", "unknown flag --gate-bounds: did you mean --set league.gate_bounds?"),
    ("imitate --threads 2", "unknown flag --threads: did you mean --set run.threads?"),
    ("train --config nowhere.toml", "--config nowhere.toml: No such file"),
    ("train --config lr.toml", "unknown setting 'ppo.lr', did you mean ppo.learning_rate?"),
    ("train --set ppo.lr=1", "unknown setting 'ppo.lr', did you mean ppo.learning_rate?"),
    ("train --set ppo.clip_range=1", "did you mean ppo.clip?"),
    ("train --set ppo.num_games=4", "did you mean run.num_games?"),
    ("train --set league={'mode':'x'}", "'league': it is a group of settings such as league.mode"),
    ("train --set league.mode=opponents", "name at least one"),
    ("imitate --replays nowhere", "nowhere: no such folder of replays"),
    # the other commands
    ("evaluate a", "B is missing: opponent of A"),
    ("evaluate walkr random", "did you mean 'walker'?"),
    ("evaluate gen_5 walker", "gen_5 is a generation of a run: name its folder"),
    ("evaluate walker random --games 1", "--games 1: at least 2 are needed"),
    ("evaluate walker random --games x", "--games x: a whole number is needed"),
    ("evaluate walker random --game-type melee", "unknown game 'melee'; did you mean 'mock'?"),
    ("evaluate walker random --character ics", "the mock has no data of the Ice Climbers"),
    ("rate nowhere", "nowhere holds no run"),
    ("rate --ray-address auto", "--ray-address is about actors of Ray: add --host ray"),
    ("rate --host ray --runners 0", "--runners 0: at least 1 is needed"),
    ("rate --runners 2", "--runners is about actors of Ray: add --host ray"),
    ("sweep lr.toml --host process", "--host process: unknown (valid: thread, ray)"),
    ("sweep lr.toml --ray-address auto", "--ray-address is about actors of Ray: add --host ray"),
    ("rate --budget 0", "--budget 0: at least 1 is needed"),
    ("exploit", "CHECKPOINT is missing: folder of a policy or of a run"),
    ("exploit nowhere", "nowhere holds no policy"),
    ("exploit nowhere --starts x", "--starts x: unknown (valid: scratch, victim)"),
    ("watch strong --game x", "strong has no rating games"),
    ("watch strong random --game x", "leave the players out"),
    ("play strong --generations 0", "--generations 0: at least 1 is needed"),
    ("play strong --generations nobody", "unknown player 'nobody'"),
    ("play strong --characters foxx", "unknown character 'foxx'; did you mean 'fox'?"),
    ("play strong --max-episode-frames 0", "--max-episode-frames 0: 1 to 28800 are possible"),
    ("export nowhere --format onx --out x", "--format onx: unknown, did you mean onnx?"),
    ("export nowhere --format torch --out full", "cannot write full: it is a folder"),
    ("export nowhere --format torch --out x", "nowhere holds no policy"),
    ("tune", "did you mean sweep?"),
    ("sweep", "FILE is missing: settings, seeds, method and judge, in TOML"),
    ("sweep nowhere.toml", "nowhere.toml: No such file"),
    ("sweep lr.toml", "lr.toml: key ppo: unknown"),
    ("sweep sweep.toml", "sweep.toml: ppo.gamma = 2: --gamma 2: at most 1 is possible"),
    ("sweep sweep.toml --jobs 0", "--jobs 0: at least 1 is needed"),
    ("selfcheck --games kun", "--games kun: unknown, did you mean kuhn?"),
    ("leaderboard nowhere", "nowhere holds no run"),
    ("tree nowhere", "nowhere holds no run"),
    ("record", "at least one player is needed"),
    ("record --bot walkr", "did you mean 'walker'?"),
    ("record --bot walker --out lr.toml/x", "lr.toml is a file, a folder is needed"),
    ("behaviour --replays nowhere", "nowhere: no such folder of replays"),
    ("inspect-dialogue", "--games or --model is needed"),
    ("generate-games", "--folder is missing"),
    ("generate-games --folder lr.toml/x", "--folder lr.toml/x: lr.toml is a file, a folder is needed"),
    ("convert-games --folder lr.toml", "--folder lr.toml: lr.toml is a file, a folder is needed"),
    ("initial-states --output_dir lr.toml/x", "lr.toml is a file, a folder is needed"),
    # seeds that games cannot have
    *(
        (f"{line} --seed {seed}", f"--seed {seed}: 0 to {2**64 - 1} are possible")
        for line in SEEDED
        for seed in (-1, 2**64)
    ),
    ("train --seed -1", "--seed -1: at least 0 is needed"),
    ("imitate --replays x --seed -1", "--seed -1: at least 0 is needed"),
    (f"exploit x --seeds 1,{2**64}", f"--seeds '{2**64}': whole numbers of at most 18 digits are needed"),
]
SWEEP = "game_type = 'rps'\ntimesteps = 8\nseeds = [0]\n[settings]\nppo.gamma = [2, 1]\n"
CALLS = """
import contextlib, io, json, sys
from selfplay.__main__ import main
for line in json.loads(sys.argv[1]):
    sys.argv = ["selfplay", *line.split()]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    loaded = [name for name in ("torch", "numba") if name in sys.modules]
    print(json.dumps([code, out.getvalue(), err.getvalue(), loaded]))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each mistake gives, by its line; all in one fresh process, since each would take as long to start."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    (folder / "lr.toml").write_text("[ppo]\nlr = 1e-3\n")
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "checkpoints" / "run").mkdir(parents=True)
    (folder / "checkpoints" / "run" / "run.json").write_text('{"config": {"game": {"type": "mock"}}}')
    lines = [line for line, _ in MISTAKES]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = finish([sys.executable, "-c", CALLS, json.dumps(lines)], cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("line", "words"), MISTAKES)
def test_a_mistake_is_one_clear_line_at_once(found, line, words):
    code, out, err, loaded = found[line]
    assert (code, out, loaded) == (2, "", [])
    (message,) = err.splitlines()
    assert words in message


def test_no_suggestion_is_far_away(found):
    assert not [line for line, words in MISTAKES if "; see --help" in words and "did you mean" in found[line][2]]


@pytest.mark.parametrize("verb", ["", *verb_names()])
def test_every_command_has_a_version(monkeypatch, capsys, verb):
    from selfplay.__main__ import main

    monkeypatch.setattr(sys, "argv", ["selfplay", *([verb] if verb else []), "--version"])
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    name, number = capsys.readouterr().out.split()
    assert (code, name, number[0].isdigit()) == (0, "selfplay", True)
