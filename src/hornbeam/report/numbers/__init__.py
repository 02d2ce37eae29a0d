"""What a report shows, as numbers."""
