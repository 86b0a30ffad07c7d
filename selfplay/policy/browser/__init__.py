"""Policies in a browser: their weights as data for a page, and in plain JavaScript the code that plays them."""
