"""Whole engine runs on the CPU: what the findings say happens, and what the fix repairs works."""
