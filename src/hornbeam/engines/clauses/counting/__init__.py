"""What is made of counts: in halves, within guards, cached for a fit, as exact sums, as truth values."""
