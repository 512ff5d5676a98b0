"""Carry out fixes: the smallest change to each file, verified before it is written.

>>> plan = plan_fixes(root, fixes)  # in memory
>>> print(render_diff(plan).decode())
>>> write_plan(root, plan)  # each file at once or not at all

A file is refused, untouched and with the reason, when it does not decode or parse, when an edit does not fit
it, or when the result would differ from it in more than was declared.
"""

from analyzer.fix.diff import render_diff
from analyzer.fix.plan import FileChange, Plan, plan_fixes
from analyzer.fix.source import Refused
from analyzer.fix.write import Written, write_plan

__all__ = ["FileChange", "Plan", "Refused", "Written", "plan_fixes", "render_diff", "write_plan"]
