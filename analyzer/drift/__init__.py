"""Third-party code against a tree: which uses of vLLM's API the tree honours, and which models a consumer serves.

Nothing of either side is imported or executed.  ``package`` reads the code, ``together`` resolves its names into the
tree, ``scopes`` and ``kinds`` say what an expression stands for, ``api`` and ``classes`` what the tree has,
``signatures`` how something is called, ``uses`` holds the one against the other; ``probes`` follows what consumers do
with a model.  Whatever is not certain is kept as unknown with its reason.
"""
