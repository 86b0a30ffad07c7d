"""A network for Connect Four that looks at every line of four squares in the same way."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from scripts.studies.connect_four.search import COLUMNS, ROWS, SQUARES

LINES = [
    [(row + i * down) * COLUMNS + column + i * right for i in range(4)]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    for row in range(ROWS)
    for column in range(COLUMNS)
    if row + 3 * down < ROWS and 0 <= column + 3 * right < COLUMNS
]
"""The squares of all 69 lines, numbered row by row from the top."""


class LineNetwork(nn.Module):
    """A layer shared by all lines, whose outputs are added up on the squares of the lines.

    A column's logit is linear in what was added up on the square where its next stone lands and on the one above it,
    and in a hidden layer that sees all squares. A plain network has to learn each line and each column by itself.

    Args:
        obs_width: Width of the observations of PettingZoo's game.
        line: Width of the layer of a line.
        square: Numbers kept for each square.
        hidden: Width of the hidden layer.
    """

    squares: Tensor  # of all lines

    def __init__(self, obs_width: int, line: int = 24, square: int = 8, hidden: int = 128) -> None:
        super().__init__()
        del obs_width
        self.register_buffer("squares", torch.tensor(LINES).flatten(), persistent=False)
        self.line = nn.Linear(4 * 3, line)
        self.from_line = nn.Linear(line, 4 * square)
        self.from_square = nn.Linear(3, square)
        self.hidden = nn.Sequential(
            nn.Linear(SQUARES * square, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )

    def forward(self, obs: Tensor) -> Tensor:
        """Map observations [N, obs_width] to features [N, width]."""
        games = len(obs)
        stones = obs[:, : 2 * SQUARES].view(games, ROWS, COLUMNS, 2)  # own and other, rows from the top
        taken = stones.sum(-1, keepdim=True)
        floor = torch.ones_like(taken[:, :1])
        landing = torch.cat([taken[:, 1:], floor], 1) - taken  # 1 where the next stone of a column lands
        above = torch.cat([landing[:, 1:], 0 * floor], 1)
        board = torch.cat([stones, landing], -1).view(games, SQUARES, 3)
        lines = torch.relu(self.line(board.index_select(1, self.squares).view(games, len(LINES), 4 * 3)))
        added = self.from_square(board)
        added = added.index_add(1, self.squares, self.from_line(lines).view(games, 4 * len(LINES), -1))
        squares = torch.relu(added).view(games, ROWS, COLUMNS, -1)
        columns = torch.cat([(landing * squares).sum(1), (above * squares).sum(1)], 1)
        return torch.cat([self.hidden(squares.flatten(1)), columns.flatten(1)], 1)
