"""The shape of the code: imports go one way, rules never parse, and no model's name steers anything."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzer.index import Index
from analyzer.registry import read_registry
from tests import releases

ROOT = Path(__file__).parent.parent

LAYERS: tuple[frozenset[str], ...] = tuple(
    map(
        frozenset,
        (
            {"collection", "folders", "globs", "lower", "mro", "nearest", "outline", "problems", "scan", "store"}
            | {"timings", "toml_lines"},
            {"beside", "blocks", "essence", "findings", "tool_cache"},
            {"facts", "fingerprint", "handling", "heads", "packages", "records", "source"},
            {"version"},
            {
                "baseline",
                "checkpoint",
                "codec",
                "comments",
                "entry_points",
                "extract",
                "checkout",
                "changes",
                "settings",
            },
            {"modules", "suppress"},
            {"cache", "index", "installed", "overlay", "plugin", "release"},
            {"literal", "registry", "values", "usage"},
            {"registrations"},
            {"frames", "members", "compare", "norms", "places"},
            {"binding", "builtin_calls", "calls", "construct", "evaluate"}
            | {"interpret", "markers", "objects", "pins", "statements", "typechecks"},
            {"answers", "checkers", "inner"},
            {"contracts"},
            {"chains", "dispatch", "loops"},
            {"models", "recorded", "subjects"},
            {"gates"},
            {"audit"},
            {"consumers", "conventions", "owed", "repair", "stages"},
            {"packing", "takeover"},
            {"lessons", "skeletons"},
            {"evidence"},
            {"survey"},
            {"engine", "matrix", "trace"},
            {"asked", "drift", "sift", "verify"},
            {"fix", "report"},
            {"patches", "teach"},
            {"commands"},
            {"cli"},
            {"__main__"},
        ),
    )
)
"""Modules and folders of ``analyzer``, from facts to the command line; a layer sees those before it.

Modules of one layer do not see each other, but for the interpreter, which is one machine in several rooms.
"""
INTERPRETER = next(layer for layer in LAYERS if "interpret" in layer)

ONLY_IN = {
    "libcst": ("analyzer/fix/",),
    "rich": ("analyzer/report/", "analyzer/commands/"),
    "click": ("analyzer/commands/", "analyzer/cli.py"),
    "subprocess": (
        "analyzer/installed.py",
        "analyzer/release.py",
        "analyzer/version.py",
        "analyzer/verify/process.py",
    ),
    "rules": ("analyzer/commands/", "rules/"),
    "tests": (),
    "fixtures": (),
}
"""Who may import what is slow to load, or belongs elsewhere."""

PARSERS = {"ast", "libcst", "tokenize", "analyzer.extract", "analyzer.source", "analyzer.scan", "analyzer.fix"}
ON_RECORDS = {"Expr", "render", "walk"}
"""What of :mod:`analyzer.lower` reads the records that facts keep, and no syntax tree."""

LONGEST = 400
LONGER = {f"analyzer/{name}.py": 430 for name in ("evaluate", "models")}
"""Files that may be longer than the others, each up to a limit of its own.  A rule's cases do not count."""

MODEL_CLASSES = frozenset(
    [
        "AriaForConditionalGeneration",
        "BaichuanForCausalLM",
        "ChatGLMModel",
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "Eagle3LlamaForCausalLM",
        "FuyuForCausalLM",
        "Gemma3ForCausalLM",
        "Gemma3ForConditionalGeneration",
        "Glm4MoeForCausalLM",
        "GptOssForCausalLM",
        "GraniteForCausalLM",
        "Idefics3ForConditionalGeneration",
        "InternVLChatModel",
        "JambaForCausalLM",
        "KimiVLForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "LlamaForCausalLM",
        "LlavaForConditionalGeneration",
        "LlavaNextForConditionalGeneration",
        "MiniCPMV",
        "MistralForCausalLM",
        "MixtralForCausalLM",
        "MolmoForCausalLM",
        "NemotronHForCausalLM",
        "PaliGemmaForConditionalGeneration",
        "Phi3VForCausalLM",
        "PixtralForConditionalGeneration",
        "Qwen2AudioForConditionalGeneration",
        "Qwen2ForCausalLM",
        "Qwen2VLForConditionalGeneration",
        "Qwen3ForCausalLM",
        "Qwen3MoeForCausalLM",
        "UltravoxModel",
        "VoxtralForConditionalGeneration",
        "WhisperForConditionalGeneration",
    ]
)


@dataclass(frozen=True)
class Import:
    """A module that a file imports, and the names that it takes from it."""

    module: str
    names: frozenset[str]
    line: int


def files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def rel(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[Import]:
    """All imports of a file, those inside functions and under ``TYPE_CHECKING`` too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, frozenset(), node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{rel(path)}:{node.lineno} imports relatively"
            yield Import(node.module or "", frozenset(alias.name for alias in node.names), node.lineno)


def place(module: str) -> int:
    """The layer of a module or folder of ``analyzer``."""
    return next(number for number, layer in enumerate(LAYERS) if module in layer)


def parts(imported: Import) -> set[str]:
    """The parts of ``analyzer`` that an import names."""
    head, _, rest = imported.module.partition(".")
    if head != "analyzer":
        return set()
    return {rest.partition(".")[0]} if rest else set(imported.names) - {"__version__"}


def test_every_module_has_its_layer() -> None:
    known = frozenset().union(*LAYERS)
    there = {p.relative_to(ROOT / "analyzer").parts[0].removesuffix(".py") for p in files("analyzer")} - {"__init__"}
    assert there == known
    assert sum(map(len, LAYERS)) == len(known)


@pytest.mark.parametrize("path", files("analyzer"), ids=rel)
def test_imports_go_one_way(path: Path) -> None:
    own = path.relative_to(ROOT / "analyzer").parts[0].removesuffix(".py")
    wrong = []
    for imported in imports(path):
        for part in parts(imported) - {own}:
            allowed = {own, part} <= INTERPRETER or (own != "__init__" and place(part) < place(own))
            if not allowed:
                wrong.append(f"{rel(path)}:{imported.line} imports analyzer.{part}")
    assert not wrong


KNOW_NO_AUDIT = {"findings", "beside", "collection", "outline"}


def test_repairs_are_carried_out_from_their_description_alone() -> None:
    for path in files("analyzer/fix"):
        assert all(parts(imported) <= {"fix", *KNOW_NO_AUDIT} for imported in imports(path)), rel(path)


STANDALONE = ("run", "exercise", "flow", "stand_ins")
"""What another interpreter executes: its torch, vLLM and pydantic are all that it may import beside Python's own."""


@pytest.mark.parametrize("name", STANDALONE)
def test_what_another_interpreter_executes_needs_nothing_of_ours(name: str) -> None:
    path = ROOT / "analyzer" / "verify" / f"{name}.py"
    allowed = sys.stdlib_module_names | {"torch", "pydantic_core", *STANDALONE}
    for imported in imports(path):
        typing_only = imported.module == "analyzer.verify" and imported.names <= set(STANDALONE)
        assert typing_only or imported.module.partition(".")[0] in allowed, f"{rel(path)}:{imported.line}"


def test_no_file_beside_them_hides_a_module_of_python() -> None:
    assert not {path.stem for path in files("analyzer/verify")} & sys.stdlib_module_names


def test_a_verification_works_on_plain_results() -> None:
    for path in files("analyzer/verify"):
        assert all(parts(imported) <= {"verify"} for imported in imports(path)), rel(path)


@pytest.mark.parametrize("path", files("analyzer", "rules"), ids=rel)
def test_what_is_slow_or_belongs_elsewhere_is_imported_by_few(path: Path) -> None:
    for imported in imports(path):
        allowed = ONLY_IN.get(imported.module.partition(".")[0])
        assert allowed is None or rel(path).startswith(allowed), f"{rel(path)}:{imported.line} {imported.module}"


@pytest.mark.parametrize("path", files("rules"), ids=rel)
def test_rules_never_parse_print_or_read_the_disk(path: Path) -> None:
    for imported in imports(path):
        modules = {imported.module, *(f"{imported.module}.{name}" for name in imported.names)}
        assert not modules & (PARSERS | {"pathlib", "os", "io", "sys"}), f"{rel(path)}:{imported.line}"
        if imported.module == "analyzer.lower":
            assert imported.names <= ON_RECORDS, f"{rel(path)}:{imported.line}"
        assert "lower" not in imported.names
    called = {node.func.id for node in calls(path) if isinstance(node.func, ast.Name)}
    assert not called & {"print", "open", "exec", "eval", "__import__"}


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


# -- no model's name -------------------------------------------------------------------------------


def prose(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last lines of docstrings and of the cases of rules."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield first.lineno, first.end_lineno or first.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Case":
            yield node.lineno, node.end_lineno or node.lineno


def words(path: Path) -> dict[str, int]:
    """Names, and the words inside strings, that stand in a file's code; each with its line."""
    text = path.read_text()
    skipped = {line for first, last in prose(ast.parse(text)) for line in range(first, last + 1)}
    found: dict[str, int] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if line in skipped or token.type in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.OP):
            continue
        for word in "".join(c if c.isalnum() or c == "_" else " " for c in token.string).split():
            found.setdefault(word, line)
    return found


def named(path: Path, classes: frozenset[str]) -> list[str]:
    return [f"{rel(path)}:{line} names {word}" for word, line in words(path).items() if word in classes]


@pytest.mark.parametrize("path", files("analyzer", "rules"), ids=rel)
def test_no_model_of_vllm_is_named_in_the_code(path: Path) -> None:
    assert not named(path, MODEL_CLASSES)


@pytest.mark.release
def test_no_class_of_a_real_registry_is_named_in_the_code() -> None:
    entries = read_registry(Index(releases.checkout("0.33.0"))).entries
    classes = frozenset({row.cls for rows in entries.values() for row in rows} | set(entries))
    assert len(classes) > 300
    assert len(MODEL_CLASSES & classes) > 30
    assert not [name for path in files("analyzer", "rules", "fixtures") for name in named(path, classes)]


def test_the_search_for_names_sees_code_and_passes_over_prose(tmp_path: Path) -> None:
    tree = ast.parse('"""LlamaForCausalLM."""\nx = Case(\n    "LlamaForCausalLM",\n)\n')
    assert list(prose(tree)) == [(1, 1), (2, 4)]
    for source in ("x = LlamaForCausalLM\n", "x = 'the LlamaForCausalLM.forward'\n", "x = f'{LlamaForCausalLM}'\n"):
        file = tmp_path / "code.py"
        file.write_text(source)
        assert "LlamaForCausalLM" in words(file)


# -- size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", files("analyzer", "rules"), ids=rel)
def test_files_are_short_enough_to_be_read_at_once(path: Path) -> None:
    text = path.read_text()
    cases = {
        line
        for node in calls(path)
        if isinstance(node.func, ast.Name) and node.func.id == "Case"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    assert text.count("\n") - len(cases) <= LONGER.get(rel(path), LONGEST)


def test_exceptions_are_needed() -> None:
    for name in LONGER:
        assert (ROOT / name).read_text().count("\n") > LONGEST, f"{name} needs no exception any more"
