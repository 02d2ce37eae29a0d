"""The values of features, computed from tallies of the groundings of bodies."""
