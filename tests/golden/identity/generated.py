"""Generated tables of the fits whose models are compared. A change here changes the list."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable
from math import exp
from pathlib import Path

from planted_world import planted


def shop(folder: Path) -> None:
    """Customers, products and orders; buyers of shoes leave, customers of fifty and older stay."""
    draw = random.Random(1)
    kinds = ["shoes", "books", "garden", "kitchen"]
    products = [(f"p{n}", draw.choice(kinds), draw.randint(5, 90)) for n in range(300)]
    customers, orders = [], []
    for n in range(500):
        bought = draw.sample(products, draw.randint(1, 8))
        orders += [(f"c{n}", product) for product, *_ in bought]
        age = draw.randint(18, 80)
        log_odds = -2.0 + 1.5 * sum(kind == "shoes" for _, kind, _ in bought) - 1.5 * (age >= 50)
        churned = str(draw.random() < 1 / (1 + exp(-log_odds))).lower()
        customers.append((f"c{n}", draw.choice(["north", "south"]), age if n % 9 else "", churned))
    write(folder / "customers.csv", ("customer_id", "region", "age", "churned"), customers)
    write(folder / "products.csv", ("product_id", "kind", "price"), products)
    write(folder / "orders.csv", ("customer_id", "product_id"), orders)


def numbers(folder: Path) -> None:
    """Things with a number to predict, ``cost``, and a count to predict, ``visits``, from their parts."""
    draw = random.Random(2)
    things, parts = [], []
    for n in range(400):
        prices = [round(draw.expovariate(0.1), 2) for _ in range(draw.randint(0, 6))]
        sorts = [draw.choice("abc") for _ in prices]
        parts += [(f"t{n}", price, sort) for price, sort in zip(prices, sorts, strict=True)]
        size = round(draw.gauss(10, 3), 2)
        visits = sum(draw.random() < 0.1 + 0.05 * sorts.count("a") for _ in range(12))
        things.append((f"t{n}", size, round(3 * size + sum(prices) + draw.gauss(0, 5), 3), visits))
    write(folder / "things.csv", ("thing_id", "size", "cost", "visits"), things)
    rows = [(f"r{n}", *row) for n, row in enumerate(parts)]
    write(folder / "parts.csv", ("part_id", "thing_id", "price", "sort"), rows)


def papers(folder: Path) -> None:
    """Papers of three topics, words that hint at them, and links between papers, mostly of one topic."""
    draw = random.Random(3)
    topics = [draw.randrange(3) for _ in range(160)]
    words = [
        (f"p{n}", f"w{word}")
        for n, topic in enumerate(topics)
        for word in range(12)
        if draw.random() < (0.4 if word % 3 == topic else 0.2)
    ]
    links: dict[tuple[str, str], None] = {}
    while len(links) < 320:
        one, other = draw.randrange(160), draw.randrange(160)
        if one != other and (topics[one] == topics[other] or draw.random() < 0.1):
            links[f"p{one}", f"p{other}"] = None
    labelled = [(f"p{n}", "adm"[topic]) for n, topic in enumerate(topics)]
    write(folder / "papers.csv", ("paper_id", "topic"), labelled)
    write(beside(folder, "known"), ("paper_id", "label"), labelled[:60])
    write(folder / "words.csv", ("paper_id", "word"), words)
    write(folder / "links.csv", ("paper_id", "other_id"), links)
    (folder / "schema.toml").write_text('[links]\nlinks = { paper_id = "papers", other_id = "papers" }\n')


def friends(folder: Path) -> None:
    """A folder of facts: who smokes, who are friends, who has cancer."""
    draw = random.Random(4)
    people = [f"h{n}" for n in range(150)]
    smokers = {person for person in people if draw.random() < 0.3}
    pairs = [(one, other) for one in people for other in draw.sample(people, 3) if one != other]
    of: dict[str, int] = dict.fromkeys(people, 0)
    for one, other in pairs:
        of[one] += other in smokers
    ill = {person for person in people if draw.random() < 1 / (1 + exp(2.0 - 1.6 * of[person]))}
    folder.mkdir()
    facts = [f"friends({one},{other}).\n" for one, other in pairs]
    facts += [f"smokes({person}).\n" for person in people if person in smokers]
    modes = ["friends(+person,-person).", "friends(-person,+person).", "smokes(+person).", "cancer(+person)."]
    (folder / "facts.txt").write_text("".join(facts))
    (folder / "background.txt").write_text("".join(f"mode: {mode}\n" for mode in modes))
    (folder / "pos.txt").write_text("".join(f"cancer({each}).\n" for each in people if each in ill))
    (folder / "neg.txt").write_text("".join(f"cancer({each}).\n" for each in people if each not in ill))
    write(beside(folder, "known"), ("person", "label"), [(each, int(each in ill)) for each in people[:60]])


def with_feature(feature: str, size: int = 300) -> Callable[[Path], None]:
    """A world whose labels depend on one feature, and its examples once more without their cut-offs."""

    def make(folder: Path) -> None:
        planted(feature, size).write(folder)
        with (folder / "examples.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        without = [(row["thing_id"], row["label"]) for row in rows]
        write(beside(folder, "timeless"), ("thing_id", "label"), without)

    return make


def beside(folder: Path, name: str) -> Path:
    return folder.with_name(f"{folder.name}_{name}.csv")


def write(path: Path, names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
