"""Learning a joint model: separate models, the surroundings model, terms and their weights."""
