"""The verbs of the command line; ``hornbeam.cli.app.VERBS`` gives the module of each."""
