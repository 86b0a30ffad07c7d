"""Entry points for other trainers (TRL, verl) that play our games."""
