"""Dialogue games: matching, and Kuhn poker in text."""
