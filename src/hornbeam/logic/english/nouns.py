"""Names as English words: without underscores, in singular and plural."""

from __future__ import annotations

_SINGULAR_IE = frozenset(
    ["calories", "cookies", "genies", "hoodies", "lies", "movies", "pies", "rookies", "selfies", "ties"]
)
"""Nouns whose singular ends in ``ie``."""
_SAME = frozenset(["news", "series", "species"])
"""Nouns that are the same in singular and plural."""
_PLURALS = {"child": "children", "man": "men", "woman": "women"}
_SINGULARS = {"people": "person", "children": "child", "men": "man", "women": "woman"}


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
    >>> [singular_of(noun) for noun in ("orders", "cities", "movies", "boxes", "class", "status", "people")]
    ['order', 'city', 'movie', 'box', 'class', 'status', 'person']
    """
    last = noun.rpartition(" ")[2].lower()
    if last in _SAME:
        return noun
    if last in _SINGULARS:
        return noun[: -len(last)] + _SINGULARS[last]
    if noun.endswith("ies") and last not in _SINGULAR_IE:
        return f"{noun[:-3]}y"
    if noun.endswith(("xes", "ches", "shes", "sses")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def plural_of(noun: str) -> str:
    """The plural of a type's name; a name whose last word is not a plain word stays as it is.

    >>> [plural_of(noun) for noun in ("orders", "city", "box", "home team", "bond 1", "child", "people")]
    ['orders', 'cities', 'boxes', 'home teams', 'bond 1', 'children', 'people']
    """
    last = noun.rpartition(" ")[2]
    if not last.isascii() or not last.isalpha() or noun.endswith("s") or last.lower() in _SINGULARS:
        return noun
    if last.lower() in _PLURALS:
        return noun[: -len(last)] + _PLURALS[last.lower()]
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


_VERBS = {"is": "are", "was": "were", "has": "have"}
"""Verbs that a flag may begin with, and their plurals."""
_AUXILIARIES = ("can", "could", "did", "had", "may", "must", "should", "will", "would")


def flag_phrase(flag: str, several: bool = False, negated: bool = False) -> str:
    """What a flag says of a thing, as a verb phrase; ``several`` for the plural.

    >>> [flag_phrase(flag) for flag in ("smokes", "is vip", "churned", "has car", "was late", "can swim")]
    ['smokes', 'is vip', 'is churned', 'has car', 'was late', 'can swim']
    >>> [flag_phrase(flag, several=True) for flag in ("smokes", "watches", "is vip", "churned", "has car")]
    ['smoke', 'watch', 'are vip', 'are churned', 'have car']
    >>> [flag_phrase(flag, negated=True) for flag in ("smokes", "churned", "has car", "can swim")]
    ['does not smoke', 'is not churned', 'does not have car', 'can not swim']
    """
    first, _, others = flag.partition(" ")
    if first in _AUXILIARIES and others:
        return f"{first} not {others}" if negated else flag
    if first in ("is", "was") and others:
        verb = _VERBS[first] if several else first
        return f"{verb} not {others}" if negated else f"{verb} {others}"
    if is_verb(flag):
        plain = f"{_VERBS.get(first) or _without_s(first)}{' ' * bool(others)}{others}"
        if negated:
            return f"{'do' if several else 'does'} not {plain}"
        return plain if several else flag
    verb = "are" if several else "is"
    return f"{verb} not {flag}" if negated else f"{verb} {flag}"


def is_verb(flag: str) -> bool:
    """Whether a flag begins with a verb in the third person, such as ``smokes`` or ``has car``.

    >>> is_verb("smokes"), is_verb("has car"), is_verb("famous"), is_verb("homeless"), is_verb("churned")
    (True, True, False, False, False)
    """
    first, _, others = flag.partition(" ")
    if first in _VERBS:
        return bool(others)
    return (
        len(first) > 3 and first.isalpha() and first.endswith("s") and not first.endswith(("ss", "us", "is"))
    )


def _without_s(verb: str) -> str:
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("xes", "ches", "shes", "sses", "oes")) else verb[:-1]


def capital(text: str) -> str:
    """Text that starts with a capital letter, as a sentence does."""
    return text[:1].upper() + text[1:]
