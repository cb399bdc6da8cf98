"""Verdicts by SuperBench's rules, and each case in which SuperBench's own answer is wrong."""

from __future__ import annotations

import random

import pytest
from superbench_files import Files, codes, verdicts

from mbench.errors import UsageError
from mbench.fleet.superbench.diagnose import diagnose
from mbench.fleet.superbench.results import read_results
from mbench.fleet.superbench.rules import read_rules

pytestmark = pytest.mark.extras  # PyYAML


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def value_rule(name="value", metrics="mem-bw/h2d_bw", criteria="x<20", **more):
    lines = [f"{name}:", "  function: value", f"  criteria: 'lambda x:{criteria}'",
             "  categories: Mem", f"  metrics: {metrics}"]  # fmt: skip
    return "\n".join([*lines, *(f"  {key}: {text}" for key, text in more.items())]) + "\n"


VARIANCE = value_rule("variance", criteria="x<-0.05").replace("function: value",
                                                             "function: variance")  # fmt: skip
FAILURE = value_rule("fail", "kernel-launch/return_code", "x>0").replace(
    "function: value", "function: failure_check")  # fmt: skip


def test_variance_compares_with_the_baseline(files):
    nodes = {"n1": {"mem-bw/h2d_bw:0": 25.0, "mem-bw/h2d_bw:1": 23.0}, "n2": {
        "mem-bw/h2d_bw:0": 24.0, "mem-bw/h2d_bw:1": 26.0}}  # fmt: skip
    found = files.diagnose(VARIANCE, nodes, {"mem-bw/h2d_bw": 25.0})
    assert verdicts(found) == {"n1": "defective", "n2": "accepted"}
    (issue,) = found.nodes[0].issues
    assert (issue.metric, issue.value, issue.baseline) == ("mem-bw/h2d_bw:1", 23.0, 25.0)
    assert issue.variance == pytest.approx(-0.08)
    assert found.nodes[0].categories == ["Mem"]
    assert (found.exit_code, found.remarks) == (1, [])


def test_a_baseline_of_the_whole_name_comes_first(files):
    nodes = {"n1": {"mem-bw/h2d_bw:0": 25.0, "mem-bw/h2d_bw:1": 25.0}}
    found = files.diagnose(VARIANCE, nodes, {"mem-bw/h2d_bw": 25.0, "mem-bw/h2d_bw:1": 50.0})
    assert [issue.metric for issue in found.nodes[0].issues] == ["mem-bw/h2d_bw:1"]


@pytest.mark.parametrize(
    ("value", "code", "says"),
    [
        (None, "S101", "null"),
        (float("nan"), "S101", "NaN"),
        (float("inf"), "S102", "Infinity"),
        (float("-inf"), "S102", "Infinity"),
        (10**400, "S102", "beyond"),
        ("fast", "S103", "a string"),
        ([25.0], "S103", "a list"),
        ({"a": 25.0}, "S103", "an object"),
        (True, "S103", "true"),
    ],
)
@pytest.mark.parametrize("rule", [VARIANCE, value_rule()], ids=["variance", "value"])
def test_what_is_no_number_is_not_judged_and_never_accepted(files, rule, value, code, says):
    nodes = {"n1": {"mem-bw/h2d_bw": 25.0}, "n2": {"mem-bw/h2d_bw": value}}
    found = files.diagnose(rule, nodes, {"mem-bw/h2d_bw": 25.0})
    assert verdicts(found) == {"n1": "accepted", "n2": "not judged"}
    (unjudged,) = found.nodes[1].unjudged
    assert unjudged.code == code
    assert says in unjudged.reason
    assert [(one.code, one.nodes) for one in found.remarks] == [(code, ["n2"])]
    assert found.exit_code == 1


def test_a_missing_metric_is_not_judged_and_never_accepted(files):
    nodes = {"n1": {"mem-bw/h2d_bw": 25.0}, "n2": {"mem-bw/d2h_bw": 25.0}, "n3": {}}
    found = files.diagnose(value_rule(), nodes)
    assert verdicts(found) == {"n1": "accepted", "n2": "not judged", "n3": "not judged"}
    assert [(one.code, one.nodes) for one in found.remarks] == [("S101", ["n2", "n3"])]


@pytest.mark.parametrize(
    "base", [None, {}, *({"mem-bw/h2d_bw": value} for value in (0, None, "25", 10**400))]
)
def test_a_baseline_of_zero_or_none_leaves_one_rule_not_judged(files, base):
    rules = VARIANCE + value_rule("other", "mem-bw/d2h_bw")
    nodes = {"n1": {"mem-bw/h2d_bw": 25.0, "mem-bw/d2h_bw": 25.0},
             "n2": {"mem-bw/h2d_bw": 25.0, "mem-bw/d2h_bw": 5.0}}  # fmt: skip
    found = files.diagnose(rules, nodes, base)
    assert verdicts(found) == {"n1": "not judged", "n2": "defective"}
    assert codes(found) == ["S104"]


def test_an_expression_that_matches_nothing_judges_nobody(files):
    found = files.diagnose(value_rule(metrics="ib-loopback/x"), {"n1": {"mem-bw/h2d_bw": 25.0}})
    assert verdicts(found) == {"n1": "not judged"}
    assert (codes(found), found.exit_code) == (["S105"], 3)


def test_a_failure_check_finds_failed_and_missing_tests(files):
    rules = FAILURE.replace("metrics: kernel-launch/return_code",
                            "metrics: [kernel-launch/return_code, mem-bw/return_code]")  # fmt: skip
    nodes = {"n1": {"kernel-launch/return_code": 0}, "n2": {"kernel-launch/return_code": 3},
             "n3": {"other/x": 1}, "n4": {"kernel-launch/return_code": "failed"}}  # fmt: skip
    found = files.diagnose(rules, nodes)
    assert set(verdicts(found).values()) == {"defective"}, "no node has mem-bw's return code"
    found = files.diagnose(FAILURE, nodes)
    assert verdicts(found) == {"n1": "accepted", "n2": "defective", "n3": "defective",
                               "n4": "defective"}  # fmt: skip
    assert found.nodes[2].categories == ["FailedTest"]


def test_the_same_input_in_any_order_gives_the_same_output(files):
    draw = random.Random(3)
    metrics = ["kernel-launch/return_code", *(f"mem-bw/h2d_bw:{rank}" for rank in range(8)),
               "mem-bw/return_code"]  # fmt: skip
    nodes = {f"n{number}": {metric: draw.choice([0, 1, 25.0, None]) for metric in metrics}
             for number in range(20)}  # fmt: skip
    rules = FAILURE + value_rule() + value_rule("all", "mem-bw/.*", "x<1")
    expected = files.diagnose(rules, nodes).to_json()
    for _ in range(5):
        order = draw.sample(list(nodes), len(nodes))
        mixed = {n: dict(draw.sample(list(nodes[n].items()), len(metrics))) for n in order}
        assert files.diagnose(rules, mixed).to_json() == expected


STORED = "stored:\n  categories: D\n  store: True\n  metrics: mem-bw/h2d_bw\n"
LOW = value_rule("low", store="True")


def combined(criteria):
    return f"both:\n  function: multi_rules\n  criteria: 'lambda label: {criteria}'\n" \
           "  categories: Both\n"  # fmt: skip


def test_rules_that_store_accuse_nobody_and_others_combine_them(files):
    rules = LOW + combined('bool(label["low"]>=2)')
    nodes = {"n1": {"mem-bw/h2d_bw:0": 5.0, "mem-bw/h2d_bw:1": 5.0},
             "n2": {"mem-bw/h2d_bw:0": 5.0, "mem-bw/h2d_bw:1": 25.0}}  # fmt: skip
    found = files.diagnose(rules, nodes)
    assert verdicts(found) == {"n1": "defective", "n2": "accepted"}
    assert (found.nodes[0].categories, found.nodes[0].issues[0].metric) == (["Both"], "")


@pytest.mark.parametrize(
    ("criteria", "verdict"),
    [
        ('bool(min(label["stored"].values())<10)', "not judged"),
        ('bool(label["low"]>=1)', "defective"),
        ('bool(label["low"]>=2)', "not judged"),
        ('bool(label["low"]>=3)', "not judged"),
    ],
)
def test_rules_are_combined_only_of_what_is_known(files, criteria, verdict):
    """One of two values is missing: a count of 1 is certain, but nothing about all values is."""
    nodes = {"n1": {"mem-bw/h2d_bw:0": 5.0}, "n2": {"mem-bw/h2d_bw:1": 25.0}}
    found = files.diagnose(STORED + LOW + combined(criteria), nodes)
    assert verdicts(found)["n1"] == verdict


def test_a_criterion_that_superbench_ignores_counts_and_is_named(files):
    rules = STORED + combined('min(label["stored"].values())<10')
    found = files.diagnose(rules, {"n1": {"mem-bw/h2d_bw": 5.0}, "n2": {"mem-bw/h2d_bw": 25.0}})
    assert verdicts(found) == {"n1": "defective", "n2": "accepted"}
    assert [(one.code, one.nodes) for one in found.remarks] == [("S203", ["n1"])]


def test_what_divides_by_zero_is_not_judged(files):
    found = files.diagnose(value_rule(criteria="1/x>1"), {"n1": {"mem-bw/h2d_bw": 0}})
    assert (verdicts(found), codes(found)) == ({"n1": "not judged"}, ["S106"])


def test_a_rank_is_not_the_beginning_of_another(files):
    """busbw:1 does not match busbw:10; an expression without a rank means all ranks."""
    nodes = {"n1": {f"nccl-bw/all_8_busbw:{rank}": 100.0 if rank != 10 else 1.0
                    for rank in range(12)}}  # fmt: skip
    found = files.diagnose(value_rule(metrics="nccl-bw/all_8_busbw:1"), nodes)
    assert (verdicts(found), codes(found)) == ({"n1": "accepted"}, ["S201"])
    assert "nccl-bw/all_8_busbw:10" in found.remarks[0].text
    found = files.diagnose(value_rule(metrics="nccl-bw/all_8_busbw"), nodes)
    assert (verdicts(found), codes(found)) == ({"n1": "defective"}, [])


def test_an_expression_that_also_means_longer_names_is_named(files):
    name = "model-benchmarks/pytorch-lstm/fp16_inference_step_time"
    nodes = {"n1": {name: 30.0, f"{name}_99": 40.0}}
    found = files.diagnose(value_rule(metrics=name), nodes)
    assert [(one.code, f"{name}_99" in one.text) for one in found.remarks] == [("S202", True)]


def test_commas_are_no_issues(files):
    rules = value_rule(criteria="max(x, 1)<20")
    found = files.diagnose(rules, {"n1": {"mem-bw/h2d_bw": 5.0}})
    assert len(found.nodes[0].issues) == 1
    assert codes(found) == ["S206"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kernel-launch/event_overhead:0", "kernel-launch/event_time:0"),
        ("kernel-launch/wall_overhead", "kernel-launch/wall_time"),
        ("mem-bw/H2D_Mem_BW:7", "mem-bw/h2d_bw:7"),
        ("gemm-flops/FP64_TC:1", "gemm-flops/fp64_tc_flops:1"),
        ("gemm-flops/INT8_TC", "gemm-flops/int8_tc_iops"),
        ("bert_models/pytorch-bert-base/steptime_train_float32",
         "bert_models/pytorch-bert-base/fp32_train_step_time"),
        ("model-benchmarks:a/pytorch-lstm/throughput_inference_float16:3",
         "model-benchmarks:a/pytorch-lstm/fp16_inference_throughput:3"),
        ("pytorch-computation-communication-overlap/mul_cost:0",
         "pytorch-computation-communication-overlap/mul_time:0"),
    ],
)  # fmt: skip
def test_old_names_and_todays_stand_for_each_other(files, old, new):
    for measured, asked in [(old, new), (new, old)]:
        rule = VARIANCE.replace("mem-bw/h2d_bw", asked)
        found = files.diagnose(rule, {"n1": {measured: 10.0}, "n2": {measured: 9.0}}, {asked: 10.0})
        assert verdicts(found) == {"n1": "accepted", "n2": "defective"}
        assert "S204" in codes(found)


def test_bandwidths_whose_unit_changed_are_not_taken_for_each_other(files):
    nodes = {"n1": {"ib-loopback/IB_write_8388608_Avg_0": 24000.0}}
    found = files.diagnose(value_rule(metrics="ib-loopback/ib_write_8388608_ib0_bw"), nodes)
    assert verdicts(found) == {"n1": "not judged"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[1]", "must be an object"),
        ('{"mem-bw/x": 1}', '"node" must be the name'),
        ('{"node": 3}', '"node" must be the name'),
        ('{"node": " "}', '"node" must be the name'),
        ('{"node": "n1"', "not valid JSON"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"node": "n0"}', "'n0' appears twice, on lines 1 and 2"),
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_is_refused_with_its_number(files, line, says):
    path = files.results({"n0": {"a/b": 1.0}, "": line})
    with pytest.raises(UsageError, match=says) as caught:
        read_results(path)
    assert str(caught.value).isprintable()
    assert "line 2" in str(caught.value) or "twice" in str(caught.value)


def test_no_node_is_refused(files, tmp_path):
    with pytest.raises(UsageError, match="has no nodes"):
        read_results(files.results({}))
    with pytest.raises(UsageError, match="cannot read"):
        read_results(tmp_path / "none.jsonl")


def test_numbers_of_thousands_of_digits_and_two_values_of_a_name_are_not_judged(files):
    line = '{"node": "n1", "mem-bw/h2d_bw": 1%s, "mem-bw/d2h_bw": 1, "mem-bw/d2h_bw": 2}' % (
        "0" * 100_000)  # fmt: skip
    found = files.diagnose(value_rule(metrics="mem-bw/.*"), {"n1": line})
    assert [one.code for one in found.nodes[0].unjudged] == ["S102", "S102"]


def test_an_expression_that_takes_too_long_is_given_up(files, monkeypatch):
    monkeypatch.setattr("mbench.fleet.superbench.expressions.SECONDS", 0.2)
    rule = value_rule(metrics="'a/.*.*.*.*.*.*.*.*.*.*.*b$'")
    results = read_results(files.results({"n1": {"a/" + "x" * 240: 1.0}}))
    with pytest.raises(UsageError, match=r"longer than 0\.2 s to match: simplify it"):
        diagnose(results, read_rules(files.rules(rule)), None)
