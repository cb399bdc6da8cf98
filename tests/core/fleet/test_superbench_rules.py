"""Files of rules: what they may hold, and each mistake with its file, line and key."""

from __future__ import annotations

import subprocess
import sys

import pytest
from superbench_files import HEAD, Files

from mbench.errors import UsageError
from mbench.fleet.superbench.rules import read_rules, read_summary_rules

pytestmark = pytest.mark.extras  # PyYAML


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


GOOD = """
rule0:
  function: variance
  criteria: lambda x:x>0.05
  categories: KernelLaunch
  metrics:
    - kernel-launch/event_time:\\d+
    - kernel-launch/wall_time:\\d+
stored:
  categories: Dist
  store: True
  metrics: model-benchmarks:stress-run.*/pytorch-gpt2-large/fp32_train_throughput
combined:
  function: multi_rules
  criteria: 'lambda label: bool(min(label["stored"].values())<1)'
  categories: Dist
"""


def test_rules_are_read(files):
    first, stored, combined = read_rules(files.rules(GOOD))
    assert (first.name, first.function, first.categories) == ("rule0", "variance", "KernelLaunch")
    assert [one.benchmark for one in first.patterns] == ["kernel-launch"] * 2
    assert (stored.store, stored.criterion) == (True, None)
    assert combined.criterion.labels == ("stored",)


RULE = "a:\n  function: value\n  criteria: lambda x:x>0\n  categories: A\n  metrics: mem-bw/x\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (RULE.replace("metrics", "metircs"), 8, "did you mean metrics?"),
        (RULE.replace("value", "valeu"), 5, "'valeu' is not one of variance, value"),
        (RULE.replace("  criteria: lambda x:x>0\n", ""), 4, "has no criteria"),
        (RULE.replace("  function: value\n", ""), 4, "has no function"),
        (RULE.replace("  categories: A\n", ""), 4, "has no categories"),
        (RULE.replace("  metrics: mem-bw/x\n", ""), 4, "has no metrics"),
        (RULE.replace("x>0", "print(x)"), 6, "call print(x) is not allowed"),
        (RULE.replace("x>0", " x>0"), 6, "put a string that contains a colon in quotes"),
        (RULE.replace("x:x>0", "x:min(x))<1"), 6, "unmatched"),
        (RULE.replace("lambda x:x>0", "3"), 6, "must be a string"),
        (RULE + "  store: maybe\n", 9, "must be True or False"),
        (RULE + "  function: value\n", 9, "'function' appears twice, first on line 5"),
        (RULE + RULE, 9, "'a' appears twice, first on line 4"),
        (RULE.replace("mem-bw/x", "mem-bw"), 8, "must be BENCHMARK/EXPRESSION"),
        (RULE.replace("mem-bw/x", "mem-bw/.*\\\\"[:-1]), 8, "is not valid: bad escape"),
        (RULE.replace("mem-bw/x", "'mem-bw/(x'"), 8, "is not valid"),
        (RULE.replace("mem-bw/x", "mem-bw/(a+)+$"), 8, "repeats a group"),
        (RULE.replace("mem-bw/x", "mem-bw/(a|aa)*$"), 8, "repeats a group"),
        (RULE.replace("mem-bw/x", "mem-bw/" + "x" * 400), 8, "at most 300 characters"),
        (RULE.replace("mem-bw/x", "mem-bw/x{99999}"), 8, "999"),
        (RULE.replace("mem-bw/x", "mem-bw/" + "a*" * 20), 8, "more than 12 repeats"),
        (RULE.replace("mem-bw/x", "[]"), 8, "has no metric"),
        (RULE.replace("mem-bw/x", "{a: 1}"), 8, "must be a string"),
        (RULE.replace("categories: A", "categories: [A]"), 7, "must be a string"),
        ("a: 1", 4, "must be a mapping of keys to values"),
        (RULE.replace("categories: A", "categories: !!python/object/apply:os.getcwd []"), 7, "tag"),
        (RULE.replace("categories: A", "categories: !!binary aGk="), 7, "tag"),
        (RULE.replace("a:\n", "a:\n  <<: {store: True}\n"), 5, "merging"),
        (RULE.replace("a:\n", "[1]:\n"), 4, "a key must be a string"),
        ('m:\n  function: multi_rules\n  criteria: \'lambda label: label["b"]>1\'\n'
         "  categories: A\n", 6, "no rule 'b' with store: True before"),
        ("m:\n  function: multi_rules\n  criteria: 'lambda label: True'\n  categories: A\n"
         "  metrics: mem-bw/x\n", 8, "multi_rules uses what other rules stored"),
        ("a: &a\n  b: *a\n", 4, "an alias refers to a value that it is part of"),
        ("a: " + "[" * 40 + "]" * 40, 4, "nested more than"),
        ("a: {\n", 5, "not valid YAML"),
        ("a:\n\t- b\n", 5, "not valid YAML"),
    ],
    ids=lambda value: f"{value!r:.50}",
)  # fmt: skip
def test_a_mistake_has_its_file_line_and_key(files, text, line, says):
    path = files.rules(text)
    with pytest.raises(UsageError) as caught:
        read_rules(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}")
    assert any(part in message for part in says.split("|"))
    assert len(message) < 500 + len(str(path))
    assert message.isprintable()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"# nothing\n", "is empty"),
        (b"- a\n", "must be a mapping of keys to values"),
        (b"text\n", "must be a mapping of keys to values"),
        (b"version: v0.12\n", "has no superbench"),
        (b"superbench:\n", "must be a mapping"),
        (b"superbench:\n  rules:\n", "must be a mapping"),
        (b"superbench:\n  rules: {}\n", "has no rules"),
        (b"superbench:\n  rule: {}\n", "did you mean rules?"),
        (b"a: 1\n---\nb: 2\n", "not valid YAML"),
        (b"\xff\xfe\x00", "UTF-"),
        (b"a: \x1b[2J\n", "not valid YAML"),
        (b"#" * (1 << 20) + b"#", "the limit is 1 MiB"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_rules_is_refused_in_one_line(tmp_path, raw, says):
    path = tmp_path / "rules.yaml"
    path.write_bytes(raw)
    with pytest.raises(UsageError, match=says) as caught:
        read_rules(path)
    assert str(caught.value).isprintable()


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        read_rules(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot read"):
        read_rules(tmp_path)


def test_aliases_do_not_grow_a_file(files):
    """A billion laughs: ten aliases of ten aliases, nine deep."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(UsageError, match="more than 20,000 values"):
        read_rules(files.rules("\n".join(lines)))


def test_an_alias_is_what_it_stands_for(files):
    text = RULE.replace("mem-bw/x", "&m [mem-bw/x]") + RULE.replace("a:", "b:", 1).replace(
        "mem-bw/x", "*m")  # fmt: skip
    assert [rule.patterns[0].text for rule in read_rules(files.rules(text))] == ["mem-bw/x"] * 2


def test_without_pyyaml_the_remedy_is_one_line(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(HEAD + "    a: {}\n")
    program = (
        "import sys; sys.modules['yaml'] = None\n"
        "from pathlib import Path\n"
        "from mbench.errors import MbenchError\n"
        "from mbench.fleet.superbench.rules import read_rules\n"
        "try: read_rules(Path(sys.argv[1]))\n"
        "except MbenchError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert "this needs PyYAML, from mbench's extra fleet: " in ran.stdout, ran.stderr
    assert "pyyaml" in ran.stdout
    assert ran.stdout.count("\n") == 1


SUMMARY = """
kernel_launch:
  statistics: [mean, p90, min, max, count, std]
  aggregate: True
  categories: KernelLaunch
  metrics: [kernel-launch/event_time, kernel-launch/wall_time]
"""


def test_rules_of_a_summary_are_read(files):
    (rule,) = read_summary_rules(files.rules(SUMMARY))
    assert (rule.aggregate, len(rule.patterns)) == (True, 2)
    assert rule.statistics == ("mean", "p90", "min", "max", "count", "std")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("p90", "p0", "'p0' is not one of count, max, mean, min, std, p1 to p99"),
        ("p90", "p100", "'p100' is not one of"),
        ("p90", "median", "'median' is not one of"),
        ("p90", "90", "must be a string"),
        ("True", "ib/no_group", "a group in parentheses"),
        ("True", "3", "must be a string"),
        ("True", "'ib/(a+)+'", "repeats a group"),
        ("  categories: KernelLaunch\n", "", "has no categories"),
        ("  statistics: [mean, p90, min, max, count, std]\n", "", "has no statistics"),
        ("aggregate", "agregate", "did you mean aggregate?"),
    ],
)
def test_a_mistake_in_a_summary_has_its_line(files, old, new, says):
    with pytest.raises(UsageError, match=says) as caught:
        read_summary_rules(files.rules(SUMMARY.replace(old, new)))
    assert ", line " in str(caught.value)
