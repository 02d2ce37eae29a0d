"""Engines count clauses over a database; all of them implement one contract."""
