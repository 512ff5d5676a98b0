"""The commands of the command line, one module each.

Nothing here imports the engine, the rules or rich before a command runs: ``--help`` has to be quick.
"""
