"""The `mbench` command: loads plugins, hands over to a command, turns errors into one line."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import click

import mbench
from mbench.cli.late import LateCommand
from mbench.console import abandon, steady, tell
from mbench.errors import MbenchError, reason_of, scarce
from mbench.machine import devices
from mbench.plugins.manager import Plugins
from mbench.results.folder import ensure_home

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130
BEFORE_THE_END = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)
"""Signals that, besides SIGTERM, terminals send, and batch systems before a time limit."""
ALONE = "--no-external-plugins"
WORDS = "mbench.words"
"""Where a context keeps the command's name and its arguments."""


class PluginGroup(click.Group):
    """A group whose commands come from plugins."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Also accepts `version`, as most programs do, and --no-external-plugins even after the
        command.
        """
        end = args.index("--") if "--" in args else len(args)
        if ALONE in args[:end]:
            args = [ALONE, *(one for one in args[:end] if one != ALONE), *args[end:]]
        return super().parse_args(context, ["--version"] if args == ["version"] else args)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(plugins_of(context).commands.unique())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        found: click.Command | None = plugins_of(context).commands.unique().get(name)
        return found.load() if isinstance(found, LateCommand) else found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists our own commands without importing them."""
        commands = plugins_of(context).commands.unique()
        width = formatter.width - 6 - max(map(len, commands))
        rows = [(name, command.get_short_help_str(width)) for name, command in commands.items()
                if not command.hidden]  # fmt: skip
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing:  # set while values are completed
            plugins_of(context).commands.get(arguments[0])  # if unknown, raises with similar names
        context.meta[WORDS] = arguments
        return super().resolve_command(context, arguments)


def plugins_of(context: click.Context) -> Plugins:
    root = context.find_root()
    if root.obj is None:
        root.obj = Plugins()
        devices.use(root.obj)
    plugins: Plugins = root.obj
    return plugins


def without_external(context: click.Context, _: click.Parameter, chosen: bool) -> None:
    if chosen:
        context.obj = Plugins(external=False)
        devices.use(context.obj)


@click.group(cls=PluginGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(mbench.__version__, "-v", "-V", "--version", prog_name="mbench")
@click.option(
    ALONE,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=without_external,
    help="Use nothing but mbench's own plugins (also: MBENCH_DISABLE_EXTERNAL_PLUGINS=1).",
)
@click.pass_context
def group(context: click.Context) -> None:
    """Which framework runs this model faster here, by how much, and how certain is it?

    \b
    Examples:
      mbench compare torch tf
      mbench compare torch tf --models bert-base --amp
      mbench list frameworks
    """
    from mbench.cli.defaults import load_defaults

    load_defaults(context, context.meta[WORDS])


def interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> NoReturn:
    """Exit codes: 0 all measured, 1 something failed, 2 usage, 3 a gate was inconclusive, 130
    interrupted.
    """
    steady()
    ensure_home()
    signal.signal(signal.SIGTERM, interrupt)
    for number in BEFORE_THE_END:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, interrupt)
    if os.environ.get("_MBENCH_COMPLETE", "").startswith("fish"):
        from mbench.cli.completion import complete_in_fish

        complete_in_fish()
    try:
        code = group.main(prog_name="mbench", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f" (see {error.ctx.command_path} --help)"
        fail(error.format_message() + hint, 2)
    except MbenchError as error:
        fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # nobody is reading any more
        abandon(sys.stdout)
        sys.exit(1)
    except OSError as error:
        abandon(sys.stdout)
        fail(scarce(error) or reason_of(error), 1)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not (said := scarce(error)):
            raise
        fail(said, 1)


def fail(message: str, code: int) -> NoReturn:
    tell(message)
    sys.exit(code)
