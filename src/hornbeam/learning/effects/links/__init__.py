"""Links: which there are, and the paths along them from an example to other things."""
