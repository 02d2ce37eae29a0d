"""The plots of a report, each a figure with the numbers it shows."""
