"""How the cost of everything grows with what there is more of: games, players, generations, rows of the ledger."""
