"""People against policies: the page, its server, and the games that come back."""
