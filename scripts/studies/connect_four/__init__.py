"""Connect Four with a network of its own and a scripted player, see docs/connect_four.md."""
