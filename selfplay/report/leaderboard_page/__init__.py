"""The leaderboard page: ratings, training curves and games of a run as one HTML file."""
