"""Growth of costs with games, players, generations and rows of the ledger."""
