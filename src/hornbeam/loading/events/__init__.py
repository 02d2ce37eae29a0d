"""Examples made from events: a thing at a time, with a label from what came next."""
