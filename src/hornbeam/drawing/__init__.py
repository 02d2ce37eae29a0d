"""Drawing: escaped markup, shapes, axes and figures. Nothing in the data can break out of it."""
