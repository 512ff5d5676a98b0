"""Reports of an audit, a module for each format; :mod:`~analyzer.report.formats` lists them.

A renderer computes no verdicts, and reads neither the disk nor the environment: it shows what the report says.
"""
