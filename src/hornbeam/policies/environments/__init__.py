"""Environments of other packages, as policies see them."""
