"""Trainers of others play our games: what they call is here. Nothing else in the package knows them."""
