"""A model that a person tries and changes: scores of edited models, what-if, and the page that shows them."""
