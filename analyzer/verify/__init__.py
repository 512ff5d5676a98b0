"""Confirm by execution what the analysis says, in the interpreter of an environment where that vLLM imports.

``plan`` says what to ask, ``process`` starts the interpreter and keeps it within limits, ``run``, ``exercise``,
``flow`` and ``stand_ins`` are what it executes, ``statements`` and ``compare`` tell what came of each verdict and each
finding, as ``outcomes``.
"""
