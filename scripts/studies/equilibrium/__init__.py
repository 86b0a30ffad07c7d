"""How far from equilibrium training comes: our trainer and methods of others on games that are solved exactly."""
