"""Tables as logic: columns, keys, links, roles, targets, examples."""
