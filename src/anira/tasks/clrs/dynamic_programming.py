"""Dynamic programming: matrix chains, longest common subsequences, optimal search trees.

Costs are floats, added in the textbook's order. So two splits whose costs are equal on paper may differ in the last
bit, and the answer follows the floats, as upstream's does.
"""

import numpy as np

from anira.tasks.clrs.sampling import Instances, cut
from anira.tasks.clrs.strings import SYMBOLS, join, split

Matrix = list[list[int]]


def matrix_chain_order(p: list[float]) -> tuple[Matrix]:
    """Return where to split each product of matrices i .. j (matrix i is p[i - 1] by p[i]); the first of equals.

    >>> matrix_chain_order([0.25, 0.566, 0.056, 0.681])
    ([[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 2], [0, 0, 0, 0]],)
    """
    n = len(p)
    cost = [[0.0] * n for _ in range(n)]
    ending = [[0.0] * n for _ in range(n)]  # the same by column: ending[j][i] is cost[i][j]
    chosen = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(1, n - length):
            j = i + length
            row, column, left, right = cost[i], ending[j], p[i - 1], p[j]
            costs = [row[k] + column[k + 1] + left * p[k] * right for k in range(i, j)]
            cost[i][j] = ending[j][i] = best = min(costs)
            chosen[i][j] = i + costs.index(best)
    return (chosen,)


def draw_strings(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw pairs of strings, n symbols together, the first one longer if n is odd."""
    first = rng.integers(0, SYMBOLS, size=(count, n - n // 2)).tolist()
    second = rng.integers(0, SYMBOLS, size=(count, n // 2)).tolist()
    return [join(x, y) for x, y in zip(first, second, strict=True)]


def lcs_length(string: list[int], key: list[int]) -> tuple[Matrix]:
    """Return the way back to a longest common subsequence: 0 a match, 1 up, 2 left; up if both are as good.

    The table has a row and a column for every symbol of both strings; entries outside first x second are -1.
    """
    x, y = split(string, key)
    table = [[-1] * len(key) for _ in key]
    above = [0] * (len(y) + 1)
    for i, symbol in enumerate(x):
        row = [0]
        for j, other in enumerate(y):
            up, left = above[j + 1], row[j]
            way, length = (0, above[j] + 1) if symbol == other else (1, up) if up >= left else (2, left)
            table[i][len(x) + j] = way
            row.append(length)
        above = row
    return (table,)


def draw_probabilities(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw probabilities of n keys and of the n + 1 gaps; the keys' list is written with a 0 at its end."""
    drawn = rng.random((count, 2 * n + 1))
    shares = cut(drawn / drawn.sum(axis=1, keepdims=True))
    return [([*row[:n], 0.0], row[n:]) for row in shares.tolist()]


def optimal_bst(p: list[float], q: list[float]) -> tuple[Matrix]:
    """Return the root of the best search tree over keys i .. j - 1, for every i < j; the first of equals."""
    n = len(q)
    cost = [[0.0] * n for _ in range(n)]
    ending = [[0.0] * n for _ in range(n)]  # the same by column
    weight = list(q)  # weight[i] is that of keys i .. j - 1 and their gaps, for the current length
    root = [[0] * n for _ in range(n)]
    for i in range(n):
        cost[i][i] = ending[i][i] = q[i]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            row, column, total = cost[i], ending[j], weight[i] + p[j - 1] + q[j]
            costs = [row[r] + column[r + 1] + total for r in range(i, j)]
            weight[i], best = total, min(costs)
            cost[i][j] = ending[j][i] = best
            root[i][j] = i + costs.index(best)
    return (root,)
