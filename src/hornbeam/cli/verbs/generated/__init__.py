"""The verbs that show and write generated data."""
