"""What is published has no secret whose name tells, and no character that reorders text."""

from __future__ import annotations

import json

from surroundings import QUICK

from mbench.contract.secrets import hidden

FORMATS = ("table", "details", "csv", "markdown", "json", "html", "junit")
REVERSED = "Ti\u202eyn\u2066 \u200fgnol"
CONTROLS = [chr(number) for number in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200F)]
SECRET, OTHER, INHERITED = "s3cr3t-of-mine", "an0ther-one", "1nherited-key"
SPEAKS = """
import os
from mbench.plugins.hooks import hookimpl
from mbench_rogue import Rogue, RogueRuntime
class Speaks(Rogue):
    runtime = "plugin_speaks:Runtime"
class Runtime(RogueRuntime):
    def before_step(self):
        print("API_TOKEN:", os.environ["API_TOKEN"], flush=True)
        os._exit(3)
@hookimpl
def mbench_adapters():
    return [Speaks("speaks")]
"""


def everything(around, done):
    """All that a run wrote, and all reports of it, in one text."""
    shown = [around.mbench("show", done.run.name, "--format", name).out for name in FORMATS]
    return "\n".join([done.out, done.err, (done.run / "run.jsonl").read_text(), *shown])


def test_secrets_of_arms_and_variables_are_told_apart_and_shown_nowhere(around):
    """Row 37 of the table of faults, see test_table.py."""
    around.install("plugin_speaks", SPEAKS)
    arms = ("tiny", f"tiny:API_TOKEN={SECRET}", f"tiny:API_TOKEN={OTHER}",
            f"rogue.speaks:API_TOKEN={SECRET}")  # fmt: skip
    done = around.compare(*arms, OMP_API_KEY=INHERITED, MKL_URL="http://me:pass-w0rd@host/")
    text = everything(around, done)
    for secret in (SECRET, OTHER, INHERITED, "pass-w0rd"):
        assert secret not in text
        assert hidden(secret if secret != "pass-w0rd" else "me:pass-w0rd") in text
    labels = [event["label"] for event in done.events if event["event"] == "case"]
    assert labels[1:3] == [f"tiny:API_TOKEN={hidden(value)}" for value in (SECRET, OTHER)]
    ((_, reason),) = done.ends.values()
    assert reason.endswith(f"its last words: API_TOKEN: {hidden(SECRET)}")


def test_a_plan_and_a_mistake_show_no_secret(around):
    planned = around.mbench("compare", "tiny", f"tiny:API_TOKEN={SECRET}", *QUICK, "--dry-run")
    assert (planned.code, SECRET in planned.out + planned.err) == (0, False)
    assert hidden(SECRET) in planned.out
    wrong = around.mbench("compare", "tiny", f"tiny:API_TOKEN={SECRET}:nonsense", *QUICK)
    assert (wrong.code, SECRET in wrong.out + wrong.err) == (2, False)


def test_a_run_with_a_secret_is_resumed_with_the_same_one_only(around):
    words = ("compare", "tiny", f"tiny:API_TOKEN={SECRET}", *QUICK)
    done = around.mbench(*words)
    assert done.code == 0, done.err
    more = ("--resume", done.run.name, "--processes", "2")
    other = [word.replace(SECRET, OTHER) for word in words]
    refused = around.mbench(*other, *more)
    assert refused.code == 2
    assert "frameworks was" in refused.err
    masked = [word.replace(SECRET, hidden(SECRET)) for word in words]
    unknown = around.mbench(*masked, *more)
    assert unknown.code == 2
    assert "the value of API_TOKEN is secret, so no run has stored it; give it again" in unknown.err
    assert around.mbench(*words, *more).code == 0


def test_no_format_shows_text_in_another_order(around, mbench):
    """Row 29. The run is one that somebody else wrote."""
    done = around.compare("tiny", "flaky")
    file = done.run / "run.jsonl"
    text = json.dumps(REVERSED)[1:-1]
    lines = file.read_text()
    for field, value in (("framework_title", "Flaky"), ("label", "flaky"), ("label", "tiny")):
        lines = lines.replace(f'"{field}":"{value}"', f'"{field}":"{text} {value}"')
    file.write_text(lines)
    for name in FORMATS:
        code, out, err = mbench("show", done.run, "--format", name)
        assert (code, err) == (0, ""), name
        assert "gnol" in out
        assert not [sign for sign in CONTROLS if sign in out], name
