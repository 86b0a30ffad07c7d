"""A run's ratings and training as one page for browsers, see ``page``."""
