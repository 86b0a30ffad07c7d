"""Policies: one network builder, one distribution over controller actions, for every game and every use."""
