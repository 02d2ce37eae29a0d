"""Drawing: escaped markup, shapes, axes and figures. All text from the data is escaped."""
