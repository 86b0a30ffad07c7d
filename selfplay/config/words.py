"""Words of other programs of the field for flags and settings of this one, and what is said of unknown ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from selfplay.errors import ConfigError
from selfplay.games.spelling import nearest, plain

FOLDERS: Final = ("--checkpoint", "--out", "--folder")
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("lr", "alpha", "step_size"), ("--learning-rate",)),
    **dict.fromkeys(("n_steps", "num_steps", "rollout_steps", "horizon", "unroll_length"), ("--rollout-length",)),
    **dict.fromkeys(("clip", "clip_range", "clip_coef", "clip_param", "clip_epsilon", "clip_ratio"), ("--ppo-clip",)),
    **dict.fromkeys(("epochs", "n_epochs", "num_epochs", "update_epochs"), ("--ppo-epochs", "--epochs")),
    **dict.fromkeys(("ent_coef", "entropy_coef", "entropy_coeff"), ("--entropy",)),
    **dict.fromkeys(("minibatch_size", "batch"), ("--batch-size", "--batch-rows")),
    **dict.fromkeys(("discount", "gamma"), ("--gamma",)),
    **dict.fromkeys(("lam", "lambda", "gae"), ("--gae-lambda",)),
    **dict.fromkeys(("env", "env_id", "env_name", "gym_id", "environment", "game"), ("--game-type", "--game")),
    "games": ("--num-games", "--budget"),
    **dict.fromkeys(("num_envs", "n_envs", "envs", "n_games"), ("--num-games", "--games")),
    **dict.fromkeys(("total_timesteps", "total_steps", "num_timesteps", "steps"), ("--timesteps", "--steps")),
    **dict.fromkeys(("episodes", "num_episodes", "n_episodes", "matches"), ("--games", "--num-games")),
    **dict.fromkeys(("gpu", "gpus", "num_gpus", "n_gpus", "cuda"), ("--device cuda",)),
    **dict.fromkeys(("workers", "num_workers", "n_workers", "num_env_runners", "num_cpu"), ("--runners",)),
    "cpu": ("--device cpu",),
    **dict.fromkeys(("log_dir", "logdir", "output", "output_dir", "save_dir", "save_path", "out", "dir"), FOLDERS),
    **dict.fromkeys(("run", "run_name", "name", "exp_name"), FOLDERS),
    **dict.fromkeys(("load", "load_model", "pretrain", "init_from", "model"), ("--pretrained", "--policy")),
    "policy": ("--pretrained (a policy to start from) or --backbone (a network)",),
    **dict.fromkeys(("restore", "continue"), ("--resume",)),
    **dict.fromkeys(("arch", "network"), ("--backbone",)),
    **dict.fromkeys(("net_arch", "hidden_size", "hidden_sizes", "layers"), ("--hidden",)),
    **dict.fromkeys(("char", "fighter"), ("--character",)),
    **dict.fromkeys(("map", "level"), ("--stage",)),
    **dict.fromkeys(("elo", "rate", "eval"), ("--track-elo",)),
    **dict.fromkeys(("eval_freq", "eval_interval", "evaluation_interval"), ("--save-interval with --track-elo",)),
    **dict.fromkeys(("save_freq", "checkpoint_freq", "checkpoint_interval"), ("--save-interval",)),
    **dict.fromkeys(("wandb", "wandb_project", "wandb_project_name", "track"), ("--report-to wandb",)),
    **dict.fromkeys(("trackio",), ("--report-to trackio",)),
    **dict.fromkeys(("tensorboard", "tensorboard_log", "logger", "report"), ("--report-to",)),
    **dict.fromkeys(("max_time", "minutes", "time_limit"), ("--max-minutes",)),
    **dict.fromkeys(("render", "human", "show"), ("--terminal",)),
}
"""Flags that a word without its dashes may stand for, the first that a command has; with a value where it needs one."""
SETTINGS: Final[Mapping[str, str]] = {
    "vf_coef": "ppo.value_coefficient",
    "value_coef": "ppo.value_coefficient",
    "clip_range_vf": "ppo.value_clip",
    "max_grad": "ppo.max_grad_norm",
}
"""Settings without a flag."""
ABSENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("quiet", "silent", "q"), "send the output to a file instead: > log.txt"),
    **dict.fromkeys(("sweep", "tune", "grid", "optuna"), "many settings are trained by selfplay sweep FILE.toml"),
}
"""Advice for flags that no command has."""


def by_word(word: str, flags: Collection[str]) -> str | None:
    """The flag that a word of other programs stands for; None if it is none or the command has no such flag."""
    return next((flag for flag in WORDS.get(plain(word), ()) if flag.split()[0] in flags), None)


def meant(word: str, flags: Collection[str]) -> str:
    """End of the error message for an unknown flag: ``: did you mean ...?``, advice, or ``; see --help``."""
    name = plain(word)
    found = by_word(word, flags) or nearest(word, flags)
    if found is not None:
        return f": did you mean {found}?"
    return f": {ABSENT[name]}" if name in ABSENT else "; see --help"


def setting_meant(path: str, settings: Collection[str], flags: Mapping[str, str]) -> str:
    """The same of an unknown setting ``path``; ``flags`` has the setting of each flag."""
    name = plain(path.rpartition(".")[2])
    if within := [setting for setting in settings if setting.startswith(f"{path}.")]:
        return f": it is a group of settings such as {within[0]}"
    same = [setting for setting in settings if setting.rpartition(".")[2] == name]
    by_word = [flags[flag] for flag in WORDS.get(name, ()) if flag in flags]
    by_name = [SETTINGS[name]] if SETTINGS.get(name) in settings else []
    found = next(iter((*same, *by_word, *by_name)), None) or nearest(path, settings)
    return "" if found is None else f", did you mean {found}?"


def check_name(flag: str, name: str | None, valid: Sequence[str]) -> None:
    """Refuse a name that is not one of those, with the nearest; None passes."""
    if name is not None and name not in valid:
        raise ConfigError(unknown_name(flag, name, valid))


def unknown_name(flag: str, name: str, valid: Sequence[str]) -> str:
    near = nearest(name, valid)
    return f"{flag} {name}: unknown{f', did you mean {near}?' if near else ''} (valid: {', '.join(valid)})"
