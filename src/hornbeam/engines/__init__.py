"""Engines count clauses over a database; all of them implement the interface in ``contract``."""
