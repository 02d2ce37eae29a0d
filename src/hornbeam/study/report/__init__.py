"""The report of the study."""
