"""Markup and figures that nothing in the data can break out of."""
