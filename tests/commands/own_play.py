"""A verb of a game of its own."""


def main():
    return 7
