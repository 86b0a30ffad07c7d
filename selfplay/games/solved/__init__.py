"""Games with known answers: small enough to write down whole, so that play can be judged exactly."""

SOLVED = ("rps", "pennies", "kuhn", "mixup")
"""Names of these games."""
