"""How the preset fights: the figures of its last generations, and the bars that they must reach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.combat.measure import mirror, scores, scripted_beside
from scripts.studies.pages import measured_here, table
from selfplay.evaluation.players import home_rules
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender
from selfplay_melee import bot_names, bots
from selfplay_melee.conditions import as_fight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.studies.cells import Cell

GAMES: Final = 200
BEFORE: Final = Path(__file__).parent / "before"
"""Last generation of the preset before this study, by seed: no imitation, bonus 2.5e-3, zero-sum, 12 M steps."""
LADDER_ENDS: Final = ("edge_guarder", "all_rounder")
BARS: Final = {
    "finished": ("at least", 0.85),
    "stocks_a_minute": ("at least", 0.8),
    "kill_percent": ("at most", 130.0),
    "hits_an_opening": ("at least", 1.6),
    "self_destructs_a_game": ("at most", 0.1),
    "last quarter's stocks a minute, share of the third's": ("at least", 0.8),
    "worst score but all_rounder": ("at least", 0.99),
    "score against all_rounder": ("at least", 0.97),
    "score against the preset before": ("at least", 0.9),
}
"""What every run of the presets must reach, of 12 million steps and Mewtwo; scores against players of its reaction."""


def measure_before(path: Path) -> Cell:
    """The figures of a policy of the preset before. Blocks."""
    policy = Contender("before", load_policy(path))
    return {"name": "before", "seed": 0, **measured_here(), **measured(policy, GAMES, 0)}


def measured(policy: Contender, games: int, seed: int) -> dict[str, Any]:
    """Games of a policy against itself, scripted players and, where it plays their character, the policies before."""
    rules = home_rules((policy,))
    characters = sorted(as_fight(rules.conditions).characters)
    assert policy.policy is not None
    opponents = [Contender(name) for name in scripted_beside(policy.policy.body)]
    before = [Contender(path.name, load_policy(path)) for path in sorted(BEFORE.iterdir())]
    theirs = [sorted(as_fight(home_rules((other,)).conditions).characters) for other in before]
    opponents += [other for other, bodies in zip(before, theirs, strict=True) if bodies == characters]
    return {
        "mirror": mirror(policy, rules, games, 10_000 + seed),
        "scores": scores(policy, opponents, rules, games, 20_000 + seed),
    }


def fight_table(cells: Sequence[Cell]) -> str:
    """One row a cell: how it fights, and how strong it is."""
    head = (
        "policy", "seed", "finished", "stocks a minute", "damage a minute", "kill %", "hits an opening",
        "self-destructs a game", "edge_guarder", "all_rounder", "before",
    )  # fmt: skip
    return table(head, map(_row, cells))


def _row(cell: Cell) -> tuple[object, ...]:
    m, results = cell["mirror"], _own_scores(cell)
    before = _against_before(cell)
    return (
        cell["name"], cell["seed"], f"{m['finished']:.0%}", f"{m['stocks_a_minute']:.2f}",
        f"{m['damage_a_minute']:.0f}", f"{m['kill_percent']:.0f}", f"{m['hits_an_opening']:.2f}",
        f"{m['self_destructs_a_game']:.2f}", *(f"{results[name]['score']:.1%}" for name in LADDER_ENDS),
        f"{min(before):.1%}" if before else "",
    )  # fmt: skip


def missed(cell: Cell) -> list[str]:
    """The ``BARS`` that a run of the preset misses, with its figures."""
    results, (_, _, third, last) = _own_scores(cell), cell["quarters"]
    figures = {
        **cell["mirror"],
        "last quarter's stocks a minute, share of the third's":
            last["stocks_per_minute"] / third["stocks_per_minute"],
        "worst score but all_rounder": min(results[name]["score"] for name in bots.LADDER if name != "all_rounder"),
        "score against all_rounder": results["all_rounder"]["score"],
        "score against the preset before": min(_against_before(cell), default=1.0),
    }  # fmt: skip
    return [
        f"{name} {figures[name]:.3g}, {word} {bar:g} wanted"
        for name, (word, bar) in BARS.items()
        if (figures[name] < bar if word == "at least" else figures[name] > bar)
    ]


def preset_text(cells: Sequence[Cell]) -> str:
    """The table of runs of the preset, and what those with ``quarters`` miss."""
    lines = [f"- {cell['name']}, seed {cell['seed']}: {'; '.join(missed(cell)) or 'every bar reached'}."
             for cell in cells if "quarters" in cell]  # fmt: skip
    return "\n".join([fight_table(cells), "", *lines])


def _own_scores(cell: Cell) -> dict[str, Any]:
    """Scores against the scripted players, those with the reaction of the policy where it has one."""
    results: dict[str, Any] = cell["scores"]
    return results | {name: results[slow] for slow, name in bot_names.SLOW.items() if slow in results}


def _against_before(cell: Cell) -> list[float]:
    """Scores against the policies before; none for a policy with a person's reaction, since they react at once."""
    if any(slow in cell["scores"] for slow in bot_names.SLOW):
        return []
    return [result["score"] for name, result in cell["scores"].items() if name.startswith("seed_")]
