"""Opponents for training, rating games, and ratings. No torch.

A player's id is a string: ``gen_12`` (a frozen generation) or the name of a scripted player. The moving player
``current`` is an opponent in training and has no rating.

One round of rating:

    ratings = rate(ledger.games(), players=players)
    for matchup in plan(ratings, players, budget=20, rng=rng):
        for game in matchup.games():
            ...                                    # play the game, make a GameRecord
    ledger.append(records)
    print(to_text(build(ledger.games())))
"""
