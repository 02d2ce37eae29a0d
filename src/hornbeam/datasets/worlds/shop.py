"""A small shop as CSV files: customers, products, who ordered what, and which customers left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp
from pathlib import Path
from random import Random

from hornbeam.datasets.worlds.building import check_limits
from hornbeam.files import write_file

KINDS = ("shoes", "books", "garden", "kitchen")
SHOP_TRUTH = (-2.0, 1.5, -1.5)
"""The log-odds of a customer to leave: for all, for each product of kind shoes, and from the age of 50 on."""


def shop_files(n_customers: int = 600, seed: int = 1) -> dict[str, str]:
    """The text of each file of the shop, by its path: three tables, and the keys of two lists of customers.

    Two thirds of the customers are in train.csv, the others in test.csv. Who leaves is drawn with the
    probabilities of ``SHOP_TRUTH``; regions and prices are noise.

    >>> [name for name in shop_files(n_customers=6)]
    ['shop/customers.csv', 'shop/products.csv', 'shop/orders.csv', 'train.csv', 'test.csv']
    """
    check_limits("n_customers", n_customers, 3, 1_000_000)
    draw = Random(seed)
    products = [(f"p{n}", draw.choice(KINDS), draw.randint(5, 90)) for n in range(300)]
    customers: list[tuple[str, str, int, str]] = []
    orders: list[tuple[str, str]] = []
    base, of_shoes, of_age = SHOP_TRUTH
    for n in range(n_customers):
        bought = draw.sample(products, draw.randint(1, 8))
        orders += [(f"c{n}", product) for product, _, _ in bought]
        age = draw.randint(18, 80)
        log_odds = base + of_shoes * sum(kind == "shoes" for _, kind, _ in bought) + of_age * (age >= 50)
        churned = str(draw.random() < 1 / (1 + exp(-log_odds))).lower()
        customers.append((f"c{n}", draw.choice(["north", "south"]), age, churned))
    keys = [(key,) for key, *_ in customers]
    learned = n_customers * 2 // 3
    return {
        "shop/customers.csv": _csv(["customer_id", "region", "age", "churned"], customers),
        "shop/products.csv": _csv(["product_id", "kind", "price"], products),
        "shop/orders.csv": _csv(["customer_id", "product_id"], orders),
        "train.csv": _csv(["customer_id"], keys[:learned]),
        "test.csv": _csv(["customer_id"], keys[learned:]),
    }


def write_shop(folder: Path, n_customers: int = 600, seed: int = 1) -> None:
    """Write the files of the shop to a folder."""
    for name, text in shop_files(n_customers, seed).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV; no value needs quotes."""
    return "".join(f"{','.join(map(str, row))}\n" for row in (header, *rows))
