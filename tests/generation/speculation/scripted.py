"""Chance that is told what to answer: runs of the real loop, one for each way it can go."""

from __future__ import annotations

import numpy as np


class ScriptedChance:
    """Follows a script of choices, then takes the first possible one; notes how many each question has."""

    def __init__(self, script):
        self.script, self.taken, self.sizes, self.probability = list(script), [], [], 1.0

    def _choose(self, weights) -> int:
        possible = np.flatnonzero(np.asarray(weights) > 0)
        turn = len(self.taken)
        index = self.script[turn] if turn < len(self.script) else 0
        self.taken.append(index)
        self.sizes.append(possible.size)
        self.probability *= float(weights[possible[index]] / np.sum(weights))
        return int(possible[index])

    def coin(self, probability, *, position):
        chance = float(probability)
        return np.bool_(self._choose(np.array([1 - chance, chance])) == 1)

    def token(self, weights, *, purpose, position):
        return np.int64(self._choose(weights))

    def tokens(self, weights, count, *, purpose, position):
        left, drawn = np.array(weights, float), []
        for _ in range(count):
            drawn.append(self._choose(left))
            left[drawn[-1]] = 0
        return np.array(drawn)


def every_run(run):
    """Pairs of result and probability over all scripts, depth first."""
    script = []
    while True:
        chance = ScriptedChance(script)
        yield run(chance), chance.probability
        taken, sizes = chance.taken, chance.sizes
        while taken and taken[-1] + 1 == sizes[len(taken) - 1]:
            taken.pop()
        if not taken:
            return
        script = [*taken[:-1], taken[-1] + 1]
