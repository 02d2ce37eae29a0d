"""The verbs of the command line, each in the module of its name or of its kind."""
