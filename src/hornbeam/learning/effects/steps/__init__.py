"""Steps of boosting: sums over bins, gains, the steps of some bags, and all bags together."""
