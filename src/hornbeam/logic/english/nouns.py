"""Names as English words: parted into words, in singular and plural."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

LISTED = 5
"""Most members of a list that a sentence names."""
_SAME_WORDS = """
aircraft clothes data goods headquarters logistics media metadata news premises sales series species sports
statistics
"""
"""Nouns that are the same in singular and plural, or have no singular that names a row."""
_SAME = frozenset(_SAME_WORDS.split())
_IRREGULAR_WORDS = """
child children, man men, person people, woman women, foot feet, goose geese, mouse mice, ox oxen, tooth
teeth, analysis analyses, axis axes, basis bases, crisis crises, diagnosis diagnoses, hypothesis hypotheses,
synthesis syntheses, thesis theses, appendix appendices, index indices, matrix matrices, vertex vertices,
criterion criteria, phenomenon phenomena, half halves, knife knives, leaf leaves, life lives, loaf loaves,
self selves, shelf shelves, thief thieves, wife wives, wolf wolves, echo echoes, hero heroes, potato
potatoes, tomato tomatoes, veto vetoes, alias aliases, atlas atlases, bias biases, canvas canvases, gas
gases, bonus bonuses, bus buses, campus campuses, census censuses, lens lenses, status statuses, surplus
surpluses, virus viruses, quiz quizzes, ache aches, cache caches, headache headaches, niche niches, calorie
calories, cookie cookies, genie genies, hoodie hoodies, lie lies, movie movies, pie pies, rookie rookies,
selfie selfies, tie ties
"""
"""Nouns whose plural no rule forms, or whose singular no rule finds, with their plurals."""
_IRREGULAR = {pair.split()[0]: pair.split()[1] for pair in _IRREGULAR_WORDS.split(",")}
_SINGULARS = {plural: singular for singular, plural in _IRREGULAR.items()}
_KEPT_PLURALS = frozenset(["person"])
"""Nouns whose plural is formed by the rule all the same: a type ``person`` has ``persons``."""
_LINKING = frozenset(["at", "by", "for", "from", "in", "of", "on", "to", "with"])
"""Words after which no ending says that there are several."""
_BORDERS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word of a name such as ``UnitPrice`` or ``URLPath`` ends."""
_ABBREVIATION = 4
"""A name in capitals with at most this many letters is an abbreviation, which keeps them."""


def words_of(name: str) -> list[str]:
    """The words of a name: parted at underscores, spaces and capitals, which only abbreviations keep.

    >>> words_of("UnitPrice"), words_of("home_team_id"), words_of("patient_BMI"), words_of("FIRST_NAME")
    (['unit', 'price'], ['home', 'team', 'id'], ['patient', 'BMI'], ['first', 'name'])
    """
    shouted = name.isupper() and (len(name) > _ABBREVIATION or "_" in name)
    words = [word for part in re.split(r"[_\s]", name) for word in _BORDERS.split(part) if word]
    return [word.lower() if shouted or word[1:].islower() else word for word in words]


def plain_name(name: str) -> str:
    """A name as words: parted as its writer parted them, and without ``id`` at the end.

    >>> plain_name("home_team_id"), plain_name("MediaTypeId"), plain_name("customerID"), plain_name("id")
    ('home team', 'media type', 'customer', 'id')
    """
    return _without(name, ("id",))


def link_name(name: str) -> str:
    """The name of a column that leads to other things: without ``key`` at the end, too.

    >>> link_name("CustomerKey"), link_name("album_id"), link_name("key")
    ('customer', 'album', 'key')
    """
    return _without(name, ("id", "key"))


def _without(name: str, endings: Collection[str]) -> str:
    words = words_of(name)
    if len(words) > 1 and words[-1].lower() in endings:
        words = words[:-1]
    return " ".join(words) or name


def singular_of(noun: str) -> str:
    """
    >>> [singular_of(noun) for noun in ("orders", "cities", "movies", "boxes", "class", "status", "people")]
    ['order', 'city', 'movie', 'box', 'class', 'status', 'person']
    >>> [singular_of(noun) for noun in ("analyses", "statuses", "order lines", "sales", "caches")]
    ['analysis', 'status', 'order line', 'sales', 'cache']
    """
    last = noun.rpartition(" ")[2].lower()
    if last in _SAME or last in _IRREGULAR:
        return noun
    if last in _SINGULARS:
        return noun[: -len(last)] + _SINGULARS[last]
    if noun.endswith("ies") and len(last) > 4:
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
    lower = last.lower()
    if lower in _IRREGULAR and lower not in _KEPT_PLURALS:
        return noun[: -len(last)] + _IRREGULAR[lower]
    unchanged = lower in _SINGULARS or lower in _SAME or (lower in _LINKING and lower != noun.lower())
    if not last.isascii() or not last.isalpha() or noun.endswith("s") or unchanged:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("x", "ch", "sh")) else f"{noun}s"


def listed(names: Sequence[str], number: int | None = None) -> str:
    """A list in a sentence: its first members, and how many more there are; ``number``: of all.

    >>> listed(["Rock", "Pop"]), listed(["a", "b", "c", "d", "e"], 17)
    ('Rock, Pop', 'a, b, c, d, e and 12 more')
    """
    shown = ", ".join(names[:LISTED])
    more = (len(names) if number is None else number) - min(len(names), LISTED)
    return f"{shown} and {more:,} more" if more > 0 else shown


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
