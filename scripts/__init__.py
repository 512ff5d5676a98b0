"""What developers run: measurements, and checks against a vLLM that imports."""
