"""Deciding in relational worlds: many worlds as one database, and policies that people can read."""
