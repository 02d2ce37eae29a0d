"""Tables that stay in their database: nothing but the examples is loaded."""
