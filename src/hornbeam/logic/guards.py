"""Guards: the part of a body that limits the groundings for which the last literal is tested.

The *guard* of a clause is its body without the last literal. In ``risk(A) :- friends(A,B), smokes(B).`` the
guard is ``friends(A,B)``. The true count is the number of friends who smoke. The false count within the
guard is the number of friends who do not; the false count in the population is the number of all other
persons.
"""

from __future__ import annotations

from functools import lru_cache

from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause, Comparison, Literal, Term, literal_variables, rename, variables


@lru_cache(maxsize=65536)
def guard_of(clause: Clause) -> Clause:
    """The clause without its last literal, in canonical form.

    >>> from hornbeam.logic.parse import parse_clause
    >>> str(guard_of(parse_clause("risk(A) :- friends(A,B), smokes(B).")))
    'risk(A) :- friends(A,B).'
    """
    return canonical(Clause(clause.head, clause.body[:-1]))


def new_variables(clause: Clause) -> tuple[int, ...]:
    """The variables that occur in the last literal only.

    >>> from hornbeam.logic.parse import parse_clause
    >>> new_variables(parse_clause("risk(A) :- friends(A,B), friends(B,C)."))
    (2,)
    """
    known = {*clause.head.args, *variables(clause.body[:-1])}
    return tuple(v for literal in clause.body[-1:] for v in literal_variables(literal) if v not in known)


@lru_cache(maxsize=65536)
def guarded_orders(clause: Clause) -> tuple[Clause, ...]:
    """The clause with each literal in turn as the last one, if the other literals are linked to the head.

    >>> from hornbeam.logic.parse import parse_clause
    >>> [str(each) for each in guarded_orders(parse_clause("knows(A,B) :- paper(C,A), paper(C,B)."))]
    ['knows(A,B) :- paper(C,B), paper(C,A).', 'knows(A,B) :- paper(C,A), paper(C,B).']
    >>> [str(each) for each in guarded_orders(parse_clause("risk(A) :- friends(A,B), friends(B,C)."))]
    ['risk(A) :- friends(A,B), friends(B,C).']
    >>> guarded_orders(parse_clause("risk(A) :- friends(A,B)."))
    ()
    """
    orders = []
    for position, last in enumerate(clause.body):
        guard = clause.body[:position] + clause.body[position + 1 :]
        if guard and _is_linked(clause.head.args, guard):
            orders.append(_in_order_of_use(Clause(clause.head, (*guard, last))))
    return tuple(dict.fromkeys(orders))


@lru_cache(maxsize=65536)
def share_orders(clause: Clause) -> tuple[Clause, ...]:
    """The guarded orders whose last literal has no new variable.

    The last literal then holds for a share of the guard's groundings.
    """
    return tuple(order for order in guarded_orders(clause) if not new_variables(order))


def with_guard(clause: Clause) -> Clause:
    """The clause in the first share order, else in the first guarded order, else as it is."""
    orders = share_orders(clause) or guarded_orders(clause)
    return orders[0] if orders else clause


def _is_linked(head: tuple[Term, ...], guard: tuple[Literal, ...]) -> bool:
    """Whether shared variables link each atom of a guard, and each compared variable, to the head."""
    atoms = [set(literal_variables(literal)) for literal in guard if not isinstance(literal, Comparison)]
    compared = {literal.variable for literal in guard if isinstance(literal, Comparison)}
    known: set[Term] = set(head)
    while linked := [variables for variables in atoms if variables & known]:
        known |= set().union(*linked)
        atoms = [variables for variables in atoms if not variables & known]
    return not atoms and compared <= known


def _in_order_of_use(clause: Clause) -> Clause:
    """The clause with its free variables numbered in order of first use."""
    arity = len(clause.head.args)
    names = {variable: arity + place for place, variable in enumerate(clause.free_variables())}
    return Clause(clause.head, tuple(rename(literal, names) for literal in clause.body))
