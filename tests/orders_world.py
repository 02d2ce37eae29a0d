"""Customers, their orders, the prices of what is in them, and who returns something."""

from __future__ import annotations

import numpy as np

from hornbeam.data.database import Database, Population
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds.building import (
    Floats,
    Integers,
    check_limits,
    database_of,
    labelled,
    modes_of,
    probability_of,
    truth_of,
    with_examples,
)
from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison, head_atom
from hornbeam.logic.schema import NUMBER

_SHOPPERS_MODES = modes_of(
    [
        "returns +customer",
        "placed +customer -order",
        "contains +order -product",
        "price +product -euro",
        "colour +product #colour",
    ]
)

SHOPPERS_TRUTH = truth_of(
    (-3.0, 0.8),
    Clause(
        head_atom("returns", 1),
        (
            Atom("contains", (1, 2)),
            Atom("placed", (0, 1)),
            Atom("price", (2, 3)),
            Comparison(3, AT_LEAST, 79.99),
        ),
    ),
    _SHOPPERS_MODES,
    {"euro": NUMBER},
)
"""``[-3, 0.8, 0] : returns(A) :- contains(B,C), placed(A,B), price(C,D), D >= 79.99.``"""

_PRICES = tuple(f"{tens}9.99" for tens in ("", *range(1, 13)))
_COLOURS = ("blue", "green", "red")


def shoppers(n_customers: int = 2000, seed: int = 0) -> Database:
    """Customers, their orders, the products in them and their prices, and who returns something.

    The labels are drawn from ``SHOPPERS_TRUTH``: only the number of expensive products that a customer
    ordered matters, which is a threshold on a number two joins away. The number of all ordered products
    predicts the label too, but less well; colours are noise. Every customer is an example.

    >>> shoppers(n_customers=100)
    Database(1,288 facts, 4 predicates, 5 types, examples: returns (100))
    """
    check_limits("n_customers", n_customers, 1, 10_000_000)
    rng = np.random.default_rng(seed)
    n_products = max(n_customers // 10, 20)
    customer = np.repeat(np.arange(n_customers), 1 + rng.poisson(2.0, size=n_customers))
    n_orders = len(customer)
    order = np.repeat(np.arange(n_orders), 1 + rng.poisson(2.0, size=n_orders))
    products = np.arange(n_products)
    database = database_of(
        _SHOPPERS_MODES,
        {
            "customer": Population(Numbered("customer", n_customers)),
            "order": Population(Numbered("order", n_orders)),
            "product": Population(Numbered("product", n_products)),
            "euro": Population(_PRICES),
            "colour": Population(_COLOURS),
        },
        {
            "placed": (customer, np.arange(n_orders)),
            "contains": (order, rng.integers(n_products, size=len(order))),
            "price": (products, rng.integers(len(_PRICES), size=n_products)),
            "colour": (products, rng.integers(len(_COLOURS), size=n_products)),
        },
        {"euro": NUMBER},
    )
    keys = np.arange(n_customers, dtype=np.int32).reshape(-1, 1)
    probability = probability_of(SHOPPERS_TRUTH, _expensive_products(database))
    return with_examples(database, labelled(rng, "returns", keys, probability))


def shoppers_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``shoppers`` world, in the order of its examples."""
    keys = database.examples_of("returns").keys
    return probability_of(SHOPPERS_TRUTH, _expensive_products(database)[keys[:, 0]])


def _expensive_products(database: Database) -> Integers:
    """The number of expensive products that each customer ordered: the true count of the planted clause."""
    price_of = np.empty(len(database.population("product")))
    product, euro = database.relation("price").columns
    price_of[product] = database.numbers["euro"][euro]
    order, ordered = database.relation("contains").columns
    expensive = np.bincount(order[price_of[ordered] >= 79.99], minlength=len(database.population("order")))
    customer, placed = database.relation("placed").columns
    size = len(database.population("customer"))
    return np.bincount(customer, weights=expensive[placed], minlength=size).astype(np.int64)
