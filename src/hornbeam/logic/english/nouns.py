"""Names as English words: without underscores, in singular and plural."""

from __future__ import annotations

_SINGULAR_IE = frozenset(
    ["calories", "cookies", "genies", "hoodies", "lies", "movies", "pies", "rookies", "selfies", "ties"]
)
"""Nouns whose singular ends in ``ie``."""
_SAME = frozenset(["news", "series", "species"])
"""Nouns that are the same in singular and plural."""


def plain_name(name: str) -> str:
    """A name as words: without underscores, and without ``id`` at the end.

    >>> plain_name("home_team_id"), plain_name("id")
    ('home team', 'id')
    """
    words = name.split("_")
    if len(words) > 1 and words[-1] == "id":
        words = words[:-1]
    return " ".join(filter(None, words)) or name


def singular_of(noun: str) -> str:
    """
    >>> [singular_of(noun) for noun in ("orders", "cities", "movies", "boxes", "class", "status")]
    ['order', 'city', 'movie', 'box', 'class', 'status']
    """
    last = noun.rpartition(" ")[2].lower()
    if last in _SAME:
        return noun
    if noun.endswith("ies") and last not in _SINGULAR_IE:
        return f"{noun[:-3]}y"
    if noun.endswith(("xes", "ches", "shes", "sses")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def plural_of(noun: str) -> str:
    """The plural of a type's name; a name whose last word is not a plain word stays as it is.

    >>> [plural_of(noun) for noun in ("orders", "city", "box", "home team", "bond 1")]
    ['orders', 'cities', 'boxes', 'home teams', 'bond 1']
    """
    last = noun.rpartition(" ")[2]
    if not last.isascii() or not last.isalpha() or noun.endswith("s"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("x", "ch", "sh")) else f"{noun}s"


def noun_of(type_name: str) -> str:
    """A type's name as a word: a column ``age`` has values of the type ``age_value``."""
    return type_name.removesuffix("_value") or type_name


def with_article(noun: str) -> str:
    """
    >>> with_article("user"), with_article("example"), with_article("order")
    ('a user', 'an example', 'an order')
    """
    # A leading u is more often a "you" (user, unit) than not.
    return f"{'an' if noun[:1].lower() in 'aeio' and noun else 'a'} {noun}"


def capital(text: str) -> str:
    """Text that starts with a capital letter, as a sentence does."""
    return text[:1].upper() + text[1:]
