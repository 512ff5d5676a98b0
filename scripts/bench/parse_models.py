"""``ast.parse`` of every file in a tree's model folders: what the marks call AST.

python scripts/bench/parse_models.py TREE
"""

import ast
import sys
from pathlib import Path

for folder in ("model_executor/models", "models"):
    for path in sorted(Path(sys.argv[1], "vllm", folder).rglob("*.py")):
        ast.parse(path.read_bytes())
