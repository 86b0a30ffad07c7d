"""Connect Four with a network of its own and a scripted player, see docs/trainer/internals/connect_four.md."""
