"""Who plays whom, what came of it, and how strong that makes everybody. No torch.

A player's id is a string: ``gen_12`` (a frozen generation, ``generation_id(12)``) or a scripted player's name. A moving
player (``current``) is met in training and has no rating.

    records      one game is one record; who won is decided on reading
        Seat(player, version, character, frame_skip, delay)
        MatchRecord.played(seats=(Seat, Seat), seed=, stage=, stocks=, percents=, frames=, ended=, damage=,
                           self_destructs=, settings=, sampling=, iteration=, wall=, round=0)   makes the match id
        settings_hash(mapping) -> str; score(record, rule), scores(stocks, percents, rule); by_stocks(record)
    rewards      RewardRecord: what two players were paid in one place, a row of a game of words
    partners     reward_cells(games): mean rewards by partner
    games        the columns of a ledger: Games.of(records); .comparable(settings) -> Selection; .subset(keep)
    ledger       the append-only file, one writer
        with Ledger.open(path, keep_rows=None) as ledger: ledger.append(records) -> rows written; ledger.games();
            ledger.rows, .duplicates, .repaired_bytes, .dropped_rows
        read_games(path) -> Games; read_records(path, kind=MatchRecord) -> Iterator[kind]
    ratings      batch Bradley-Terry on the Elo scale, ``random`` at 1500
        rate(games, rule="stocks_percent", players=(), parents=None, settings=None) -> Ratings
        Ratings: players, elo, low, high, se, cov, met, won, games; .index(id), .difference(a, b), .components()
    elo          sequential_elo(games, rule) -> dict: K-factor Elo, which depends on the order of the games
    share        score_share(scores, pairs=None) -> Share(score, low, high): of one player in a series of games
    schedule     plan(ratings, players, budget, rng, games_each=2) -> list[Fixture(a, b, seed)]
        Fixture.seatings(character, other=None) -> 2 (with two characters 4) Seating(players, characters)
    matchmaker   Matchmaker(mode, rng, scripted=(), weights=None, max_frozen=4)
        .set_generations(ids), .rotate(in_play=()), .draw(n) -> list[Opponent(kind, id, category)], .bench,
        .histogram(), .state(), .restore(state)
    leaderboard  build(games, method="batch", rule="stocks_percent", settings=None) -> Leaderboard
    render       to_text(board, show_all=False), to_table (rich), to_json
    runs         runs_under(root), resolve_run(name or None, root): found by their run.json

One round of rating, in full:

    ratings = rate(ledger.games(), players=players)
    for fixture in plan(ratings, players, budget=20, rng=rng):
        for seating in fixture.seatings("mewtwo"):
            ...                                    # play it, make a MatchRecord
    ledger.append(records)
    print(to_text(build(ledger.games())))
"""
