"""Gibbs sampling: unknown labels are drawn again and again, each given the current labels of the others.

Things are drawn in blocks. Things of one block are drawn at once, given the labels before; as far as a few
blocks allow, no thing is in the block of one that it reaches. A sweep draws every block of every target once.
The result is the mean, over the sweeps after the burn-in, of the probabilities from which labels were drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.errors import OptionError
from hornbeam.joint.guessing.mean_field import Guesses, start
from hornbeam.joint.neighbours import LinkedThings, with_evidence
from hornbeam.joint.reach import Reach, Sparse

MOST_BLOCKS = 8
MOST_ENTRIES = 5_000_000
"""With more links, blocks are made without looking at them."""
MIXED = 1.1
"""Chains have mixed if R-hat is at most this."""
LEAST_VARIANCE = 1e-6
"""Probabilities that vary less are taken to be settled."""


@dataclass(frozen=True, slots=True)
class Gibbs:
    """Options of Gibbs sampling."""

    chains: int = 4
    burn_in: int = 100
    samples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("burn_in", 0), ("samples", 2)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name}={value!r} is refused: it must be a whole number from {least}.")


@dataclass(frozen=True, slots=True)
class Mixing:
    """How well the chains agree."""

    chains: int
    sweeps: int
    r_hat: float
    """the root of the variance of all draws over that within a chain; the largest of all things and labels"""

    @property
    def converged(self) -> bool:
        return self.r_hat <= MIXED

    def __str__(self) -> str:
        drawn = f"{self.chains} chains of {self.sweeps} sweeps"
        if self.converged:
            return f"Gibbs sampling: {drawn}, R-hat {self.r_hat:.3f}"
        return (
            f"Gibbs sampling has not mixed: {drawn} have R-hat {self.r_hat:.3f}, above {MIXED}; "
            "take more samples or a longer burn-in"
        )


def gibbs(world: Mapping[str, LinkedThings], options: Gibbs) -> Guesses:
    """Draw all unknown labels together."""
    blocks = {name: blocks_of(each) for name, each in world.items()}
    means: list[dict[str, Floats]] = []
    halves: list[dict[str, Floats]] = []
    variances: list[dict[str, Floats]] = []
    for chain in range(options.chains):
        rng = np.random.default_rng([options.seed, chain])
        for half in _chain(world, blocks, options, rng):
            halves.append(half[0])
            variances.append(half[1])
        means.append({name: (halves[-2][name] + halves[-1][name]) / 2 for name in world})
    chances = {name: np.mean([each[name] for each in means], axis=0) for name in world}
    r_hat = max((_r_hat(n, halves, variances, options.samples // 2) for n in world), default=1.0)
    beliefs = {name: with_evidence(each.things, chances[name]) for name, each in world.items()}
    return Guesses(beliefs, chances, Mixing(options.chains, options.burn_in + options.samples, r_hat))


def _chain(
    world: Mapping[str, LinkedThings],
    blocks: Mapping[str, npt.NDArray[np.int64]],
    options: Gibbs,
    rng: np.random.Generator,
) -> list[tuple[dict[str, Floats], dict[str, Floats]]]:
    """The mean and the variance of the probabilities in each half of one chain."""
    _, fixed = start(world)
    state: dict[str, Floats] = {}
    for name, each in world.items():
        state[name] = with_evidence(each.things, _drawn(fixed.get(name, each.own.first), rng))
    results = []
    for burn, number in (
        (options.burn_in, options.samples // 2),
        (0, options.samples - options.samples // 2),
    ):
        for _ in range(burn):
            sweep(world, blocks, state, rng, fixed)
        total = {name: np.zeros_like(values) for name, values in state.items()}
        squares = {name: np.zeros_like(values) for name, values in state.items()}
        for _ in range(number):
            chances = sweep(world, blocks, state, rng, fixed)
            for name in world:
                total[name] += chances[name]
                squares[name] += chances[name] ** 2
        mean = {name: each / number for name, each in total.items()}
        spread = {name: each / number - mean[name] ** 2 for name, each in squares.items()}
        results.append((mean, spread))
    return results


def sweep(
    world: Mapping[str, LinkedThings],
    blocks: Mapping[str, npt.NDArray[np.int64]],
    state: dict[str, Floats],
    rng: np.random.Generator,
    fixed: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Draw every unknown label once, in place; returns the probabilities from which they were drawn.

    Probabilities of some targets are fixed.
    """
    used: dict[str, Floats] = {}
    for name, each in world.items():
        used[name] = np.zeros_like(state[name])
        for block in range(int(blocks[name].max(initial=-1)) + 1):
            inside = blocks[name] == block
            chances = fixed[name] if name in fixed else each.conditional(state)
            used[name][inside] = chances[inside]
            drawn = np.flatnonzero(inside & ~each.things.known)
            state[name] = state[name].copy()
            state[name][drawn] = _drawn(chances[drawn], rng)
    return used


def _drawn(chances: Floats, rng: np.random.Generator) -> Floats:
    """One label for each row, as a row with a single 1."""
    steps = np.cumsum(chances, axis=1)
    labels = (rng.random(len(chances))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
    drawn: Floats = np.zeros_like(chances)
    drawn[np.arange(len(chances)), np.minimum(labels, chances.shape[1] - 1)] = 1.0
    return drawn


def blocks_of(each: LinkedThings) -> npt.NDArray[np.int64]:
    """A block for each thing; neighbours are in other blocks, as far as the number of blocks allows."""
    size, name = len(each.things), each.things.target.name
    blocks = np.zeros(size, dtype=np.int64)
    reaches = [reach for values in each.values if values.term.target == name for reach in values.reaches]
    if not reaches:
        return blocks
    matrices: list[Sparse] = []
    for reach in reaches:
        matrix = _product(reach, MOST_ENTRIES - sum(each.nnz for each in matrices))
        if matrix is None:
            return np.arange(size, dtype=np.int64) % MOST_BLOCKS
        matrices.append(matrix)
    taken = np.zeros((size, MOST_BLOCKS), dtype=np.bool_)
    matrices += [matrix.T.tocsr() for matrix in matrices]
    for thing in range(size):
        free = np.flatnonzero(~taken[thing])
        block = int(free[0]) if len(free) else thing % MOST_BLOCKS
        blocks[thing] = block
        for matrix in matrices:
            taken[matrix.indices[matrix.indptr[thing] : matrix.indptr[thing + 1]], block] = True
    return blocks


def _product(reach: Reach, most: int) -> Sparse | None:
    """Which things each thing reaches, as one matrix; None if it could have more entries than ``most``."""
    matrix = reach.factors[0][reach.start]
    for factor in reach.factors[1:]:
        if int(np.diff(factor.indptr)[matrix.indices].sum()) > most:
            return None
        matrix = (matrix @ factor).tocsr()
    return matrix if matrix.nnz <= most else None


def _r_hat(
    name: str, means: list[dict[str, Floats]], variances: list[dict[str, Floats]], number: int
) -> float:
    """The largest R-hat of the halves of all chains."""
    each = np.array([half[name] for half in means])
    within = np.mean([half[name] for half in variances], axis=0)
    between = each.var(axis=0, ddof=1)
    varying = between + within > LEAST_VARIANCE
    if not varying.any():
        return 1.0
    # Of equal variances, R-hat of uncorrelated draws is 1; a difference within its error is allowed for.
    pooled = within * (number - 1) / number + between
    ratio = pooled[varying] / np.maximum(within[varying], LEAST_VARIANCE)
    return float(np.sqrt(ratio.max(initial=1.0)))
