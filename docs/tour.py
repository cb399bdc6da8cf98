"""Makes the tour's pictures of a terminal, as SVG, from what the commands print.

Usage: python docs/tour.py [RUN]

Without a RUN it measures one, of about three minutes: README's first command. The other commands
take a minute. It needs the environments of the frameworks that it names, or builds them, and
`tests/tiny`, whose progress it watches.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from mbench.engine.launchers import Launchers
from mbench.measure.preflight import preflight
from mbench.measure.run import Execution, conduct
from mbench.plugins.manager import Plugins
from mbench.reports.progress.live import LiveProgress
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.experiment import Checks, Experiment, Launch, Sweep

if TYPE_CHECKING:
    from rich.console import RenderableType

MBENCH = [sys.executable, "-m", "mbench"]
FOLDER = Path(__file__).parent / "tour"
COLUMNS = 100
COMPARE = "mbench compare torch tf"
FIRST = f"{COMPARE} --models resnet18 --fast"
SCENES = {
    "list": "mbench list frameworks",
    "doctor": "mbench doctor",
    "plan": f"{COMPARE} --mode train,inference --batch-size 4,8,32 --dry-run",
    "verify": "mbench verify torch tf --models squeezenet1_1",
}
# No fonts from the network: a reader's own will do.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def printed(command: str) -> str:
    """What a command prints on a terminal with colours."""
    done = subprocess.run(
        [*MBENCH, *shlex.split(command)[1:], "--color", "always"],
        stdout=subprocess.PIPE, text=True, check=True,
        env={**os.environ, "COLUMNS": str(COLUMNS), "MBENCH_DISABLE_EXTERNAL_PLUGINS": "1"},
    )  # fmt: skip
    return done.stdout


class Watched(LiveProgress):
    """Keeps everything that was shown."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.frames: list[RenderableType] = []

    def tick(self) -> None:
        super().tick()
        self.frames.append(self.rendered())


def underway(results: str) -> RenderableType:
    """What is shown in the middle of a comparison of quick frameworks."""
    experiment = Experiment(
        arms=(Arm("tiny"), Arm("flaky")),
        sweeps=(Sweep(axes={"model": ("tiny-model",)}),),
        protocol=Adaptive(processes=3, budget_seconds=30),
        launch=Launch(threads=1),
        checks=Checks(mfu=False),
    )
    progress = Watched()
    with Launchers(Plugins()) as launchers:
        checked = preflight(experiment, launchers)
        conduct(checked, Execution(results=Path(results)), progress)
    return progress.frames[3 * len(progress.frames) // 4]


def draw(name: str, command: str, output: str | RenderableType) -> None:
    """Write a picture of a terminal in which `command` was typed."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(output) if isinstance(output, str) else output)
    picture = console.export_svg(title="mbench", code_format=FORMAT, theme=MONOKAI, unique_id=name)
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as results:
        run = sys.argv[1] if len(sys.argv) > 1 else None
        if run is None:
            command = [*MBENCH, *shlex.split(FIRST)[1:], "--results", results]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shown = f"mbench show {shlex.quote(run)}" if run else f"mbench show --results {results}"
        draw("compare", FIRST, printed(shown))
        draw("progress", "mbench compare tiny flaky --models tiny-model --fast", underway(results))
        for name, command in SCENES.items():
            draw(name, command, printed(command))


if __name__ == "__main__":
    main()
