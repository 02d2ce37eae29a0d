"""Negatives are chosen by hash: the same ones whatever the order of the file."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.sampling import atom_texts, sampled
from hornbeam.logic.schema import Schema

NAMES = [f"p{number}" for number in range(40)] + ["Upper Case", "it's"]


def database(order: list[int], positives: int = 5) -> Database:
    rows = [(NAMES[i], NAMES[(7 * i + 3) % len(NAMES)]) for i in order]
    labels = [int(i < positives) for i in order]
    return build(Schema({"likes": ("person", "person")}), (), {}, {"likes": (rows, labels)})


def kept(world: Database, ratio: float | None, seed: int = 0) -> set[tuple[str, ...]]:
    examples = world.examples_of("likes")
    positions = sampled(world, "likes", examples.keys, examples.labels, ratio, seed)
    assert positions.tolist() == sorted(positions.tolist())
    names = world.names_of("likes", examples.keys)
    return {tuple(row) for row in names[positions].tolist()}


def test_the_negatives_with_the_smallest_hash_of_seed_and_text_are_kept() -> None:
    world = database(list(range(len(NAMES))))
    names, labels = world.examples("likes")
    quoted = {"Upper Case": "'Upper Case'", "it's": "'it\\'s'"}
    texts = {
        tuple(row): f"likes({','.join(quoted.get(name, name) for name in row)})" for row in names.tolist()
    }
    hashes = {row: blake2b(f"9 {text}".encode(), digest_size=16).digest() for row, text in texts.items()}
    negatives = [row for row, label in zip(texts, labels.tolist(), strict=True) if not label]
    expected = set(sorted(negatives, key=hashes.__getitem__)[:10])
    assert kept(world, 2.0, seed=9) == expected | (set(texts) - set(negatives))


@pytest.mark.parametrize(
    ("ratio", "negatives"), [(1.0, 5), (0.3, 2), (0.05, 1), (1.5, 8), (7.4, 37), (1e9, 37), (None, 37)]
)
def test_the_ratio_decides_how_many(ratio: float | None, negatives: int) -> None:
    assert len(kept(database(list(range(len(NAMES)))), ratio)) == 5 + negatives


def test_file_order_and_codes_play_no_part_and_the_seed_does() -> None:
    forward = database(list(range(len(NAMES))))
    backward = database(list(reversed(range(len(NAMES)))))
    assert kept(forward, 2.0) == kept(backward, 2.0)
    assert kept(forward, 2.0) != kept(forward, 2.0, seed=1)
    assert kept(forward, 1.0) < kept(forward, 2.0)


def test_an_unknown_key_has_a_text_too() -> None:
    world = build(Schema({"likes": ("person", "person")}), (), {"likes": [["ann"], ["Bob"]]})
    keys = np.array([[0, 1], [-1, 0], [1, -1]], dtype=np.int32)
    assert atom_texts(world, "likes", keys) == ["likes(ann,'Bob')", "likes(_,ann)", "likes('Bob',_)"]


def test_negatives_are_drawn_whatever_their_names_hold() -> None:
    rows = [(f"p{number}\udc80",) for number in range(9)]
    world = build(Schema({"likes": ("person",)}), (), {}, {"likes": (rows, [1, *[0] * 8])})
    examples = world.examples_of("likes")
    assert len(sampled(world, "likes", examples.keys, examples.labels, 2.0, 0)) == 3
