"""The command line: how a run starts, and how it ends whatever happens."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

import analyzer
from analyzer.commands.failure import CLEAN, FAILED, INTERRUPTED, Failure, one_line
from analyzer.commands.lazy import LazyGroup
from analyzer.commands.output import silence_stdout

NAME = "vllm-contracts"
DEBUG = "VLLM_CONTRACTS_DEBUG"

EXAMPLES = """
\b
Start with one of these:
  vllm-contracts audit --release 0.33.0    a published release
  vllm-contracts audit ~/src/vllm          your clone or fork
  vllm-contracts audit                     the vLLM installed for this Python
  vllm-contracts fix --diff ~/src/vllm     the repairs, as a patch
  vllm-contracts trace ~/models/my-model   will it work for this checkpoint?
  vllm-contracts matrix --release 0.33.0   every model against the contracts
  vllm-contracts diff 0.20.2 0.22.1        what changed between two trees
  vllm-contracts explain VC001             what a code means, what to do
"""


SUMMARIES = {
    "audit": "Report broken contracts in a vLLM tree.",
    "fix": "Repair what the audit finds.",
    "plugin": "Write a plugin that repairs an installed vLLM.",
    "trace": "Will it work for my model? The whole chain.",
    "matrix": "Show every model against the contracts.",
    "diff": "Tell what changed between two vLLM trees.",
    "consumers": "Hold code that uses vLLM against a release.",
    "explain": "Explain a rule, or a contract of a tree.",
    "verify": "Confirm the audit's verdicts by execution, without weights.",
    "hook": "Judge changed files, for pre-commit.",
    "watch": "Report anew whenever the tree changes.",
    "config": "Show the settings in force, and where each comes from.",
    "cache": "Show or clear what earlier runs left.",
}
"""The commands, each a module of :mod:`analyzer.commands`, and what each does."""


@click.group(
    cls=LazyGroup,
    summaries=SUMMARIES,
    invoke_without_command=True,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(analyzer.__version__, "--version", prog_name=NAME)
@click.pass_context
def cli(context: click.Context) -> None:
    """Find, explain and repair broken interface contracts in vLLM's models.

    A multimodal model wraps a language model and has to hand its capabilities on: EAGLE-3 speculative
    decoding, pipeline parallelism and others. Where a wrapper forgets one, vLLM refuses the feature after it
    has loaded the model. This tool reads the sources and says so before, without importing or running
    anything of vLLM.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: the arguments; those of the process unless given.

    Returns:
        The exit code: 0 clean, 1 findings, 2 the run itself failed, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = cli.main(args=args, prog_name=NAME, standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else NAME
        return _said(f"error: {one_line(error.format_message())} (see {where} --help)", FAILED)
    except Failure as error:
        for message in error.messages:
            _said(f"error: {one_line(message)}", FAILED)
        return FAILED
    except click.ClickException as error:
        return _said(f"error: {one_line(error.format_message())}", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return CLEAN
    except Exception as error:
        return _bug(error)
    return status if isinstance(status, int) else CLEAN


def _said(message: str, status: int) -> int:
    with suppress(OSError):
        click.echo(message, err=True)
    return status


def _bug(error: Exception) -> int:
    """The last resort: one line, or everything for those who look into it."""
    if os.environ.get(DEBUG, "") not in ("", "0"):
        import traceback

        return _said("".join(traceback.format_exception(error)), FAILED)
    what = one_line(f"{type(error).__name__}: {error}")[:300]
    return _said(
        f"error: internal error, {what}; this is a bug of {NAME} {analyzer.__version__}: "
        f"please report it with the output that {DEBUG}=1 gives",
        FAILED,
    )
