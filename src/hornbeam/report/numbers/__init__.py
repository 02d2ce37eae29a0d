"""The numbers that a report shows."""
