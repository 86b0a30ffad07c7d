"""The tables of ``docs/games``, a page for each game: observation by index, actions, versions, scripted players."""
