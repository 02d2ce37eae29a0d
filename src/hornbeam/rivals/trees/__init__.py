"""RDN-Boost: boosted relational regression trees."""
