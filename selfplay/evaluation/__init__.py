"""Games between players that a person names: policies, generations of runs, and scripted players."""
