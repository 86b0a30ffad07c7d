"""What players do by their action."""
