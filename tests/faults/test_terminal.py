"""A terminal that is resized while rows are drawn in it: what was drawn before does not stay."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time

import pytest
from surroundings import QUICK, eventually

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Terminal:
    """A terminal of tmux, with a server of its own."""

    def __init__(self, around, server, *words):
        self.tmux = ["tmux", "-L", f"mbench-{around.mark}-{server}", "-f", "/dev/null"]
        command = shlex.join([sys.executable, "-m", "mbench", *words])
        line = f"{command}; echo over $?; exec sleep 600"
        subprocess.run(
            [*self.tmux, "new-session", "-d", "-x", "100", "-y", "30", "bash", "-c", line],
            env={**around.variables, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
            cwd=around.folder, check=True,
        )  # fmt: skip

    def resize(self, width, height):
        words = ["resize-window", "-x", str(width), "-y", str(height)]
        subprocess.run([*self.tmux, *words], check=True)

    def text(self):
        """All text in the terminal, with what was scrolled away."""
        shown = subprocess.run([*self.tmux, "capture-pane", "-p", "-J", "-S", "-500"],
                               capture_output=True, text=True, check=True)  # fmt: skip
        return shown.stdout

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False)


def drawn(around, attempt):
    """All that a terminal shows in the end, after it was resized while rows were drawn."""
    words = ("compare", "tiny", "rogue.wait_for_the_test", *QUICK, "--rounds", "12")
    go = around.folder / f"go{attempt}"
    around.variables["TEST_GO"] = str(go)
    terminal = Terminal(around, attempt, *words)
    try:
        eventually(lambda: "rogue.wait_for_the_test" in terminal.text(), "drawn")
        go.touch()
        for size in ((40, 8), (12, 3), (100, 30)):
            terminal.resize(*size)
            time.sleep(1.5)  # tmux reports the size late if two changes follow each other
        eventually(lambda: "over 0" in terminal.text(), "over")
        return terminal.text()
    finally:
        terminal.close()


def test_row_38_nothing_stays_of_rows_that_were_drawn_in_another_size(around):
    """What is drawn before tmux reports the new size may stay, and on a busy machine that takes
    long, hence the attempts. tests/core/reports/progress/test_rows.py has no such moment.
    """
    for attempt in range(3):
        text = drawn(around, attempt)
        assert text.count("rogue.wait_for_the_test eager") == 1, "the report is whole"
        if text.count("elapsed") <= 1:
            return
    raise AssertionError(text)
