"""Reading traces as each framework's profiler writes them, according to its source code."""

from __future__ import annotations

import gzip
import json

import pytest

from mbench.contract.adapter import Traced
from mbench.sdk import traces

SGEMM = "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_nn>(cutlass_80::Params)"
KINETO = [
    {"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "args": {"name": "python"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 9, "tid": 9, "ts": 1, "dur": 60.5,
     "args": {"External id": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 2,
     "dur": 7, "args": {"cbid": 211, "correlation": 1289495}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 9, "tid": 9, "ts": 2,
     "dur": 7, "args": {"cbid": 41, "correlation": 1281474}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 1,
     "dur": 99},
    {"ph": "X", "cat": "kernel", "name": SGEMM, "pid": 0, "tid": 7, "ts": 1689861288841850,
     "dur": 9.5, "args": {
         "External id": 1289495, "queued": 0, "device": 0, "context": 1, "stream": 7,
         "correlation": 1289495, "registers per thread": 128, "shared memory": 13056,
         "blocks per SM": 0.72727275, "warps per SM": 2.909091, "grid": [8, 12, 1],
         "block": [128, 1, 1], "est. achieved occupancy %": 5}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
     "ts": 3, "dur": 31, "args": {
         "External id": 1281474, "device": 0, "context": 1, "stream": 7, "correlation": 1281474,
         "bytes": 1609728, "memory bandwidth (GB/s)": 50.4569}},
    {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 4,
     "dur": 1, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 12, "bytes": 512,
                        "memory bandwidth (GB/s)": 0.5}},
    {"ph": "s", "id": 1289495, "pid": 9, "tid": 9, "ts": 2, "cat": "ac2g", "name": "ac2g"},
]  # fmt: skip
"""As libkineto/src/output_json.cpp of pytorch/kineto writes it."""

PADDLE = [
    {"name": "matmul dygraph[12.300 us]", "pid": 9, "tid": "9(Python)", "ts": 1, "dur": 12.3,
     "ph": "X", "cat": "Operator", "cname": "thread_state_runnable",
     "args": {"start_time": "1.000 us", "end_time": "13.300 us"}},
    {"name": "cudaLaunchKernel[0.007 ms]", "pid": 9, "tid": "9(C++)", "ts": 1, "dur": 7.0,
     "ph": "X", "cat": "CudaRuntime", "args": {"correlation id": 12}},
    {"name": f"{SGEMM}[0.010 ms]", "pid": 0, "tid": 7, "ts": 1, "dur": 9.5, "ph": "X",
     "cat": "Kernel", "cname": "rail_animation", "args": {
         "start_time": "1.000 us", "end_time": "10.500 us", "device": 0, "context": 1,
         "stream": 7, "correlation id": 12, "registers per thread": 128, "shared memory": 13056,
         "blocks per SM": 0.7, "warps per SM": 2.9, "grid": [8, 12, 1], "block": [128, 1, 1],
         "theoretical achieved occupancy %": 5.0}},
    {"name": "MEMCPY_DtoH[31.000 us]", "pid": 0, "tid": 7, "ts": 1, "dur": 31.0, "ph": "X",
     "cat": "Memcpy", "args": {"stream": 7, "correlation id": 13, "bytes": 1609728,
                               "memory bandwidth (GB/s)": 50.4}},
    {"name": "MEMSET[1.000 us]", "pid": 0, "tid": 7, "ts": 1, "dur": 1.0, "ph": "X",
     "cat": "Memset", "args": {"device": 0, "stream": 7, "bytes": 512, "value": 0}},
    {"name": "process_name", "pid": 0, "tid": 7, "ph": "M", "args": {"name": "Deivce 0 (GPU)"}},
    {},
]  # fmt: skip
"""As paddle/fluid/platform/profiler/chrometracing_logger.cc writes it, with its misspelling and its
last event."""

GPU, CPU = 1, 701
XLA = [
    {"ph": "M", "pid": GPU, "name": "process_name", "args": {"name": "/device:GPU:0"}},
    {"ph": "M", "pid": CPU, "name": "process_name", "args": {"name": "/host:CPU"}},
    {"ph": "M", "pid": GPU, "tid": 13, "name": "thread_name",
     "args": {"name": "Stream #13(MemcpyH2D,Compute)"}},
    {"ph": "X", "pid": CPU, "tid": 9, "ts": 1.5, "dur": 7.2, "name": "PjitFunction(step)"},
    {"ph": "X", "pid": CPU, "tid": 9, "ts": 1.5, "dur": 3.2, "name": "MemcpyH2D", "args": {
        "device_id": "0", "correlation_id": "7",
        "memcpy_details": "kind_src:unknown kind_dst:unknown size:1609728 dest:0 async:1"}},
    {"ph": "X", "pid": GPU, "tid": 13, "ts": 2.0, "dur": 9.5, "name": SGEMM, "args": {
        "correlation_id": "8", "hlo_module": "jit_step", "hlo_op": "dot.3",
        "theoretical_occupancy_pct": "37.5",
        "kernel_details": "regs:128 static_shared:0 dynamic_shared:13056 grid:8,12,1 "
                          "block:128,1,1 occ_pct:37.5"}},
    {"ph": "X", "pid": GPU, "tid": 13, "ts": 1.7, "dur": 31.0, "name": "MemcpyH2D", "args": {
        "correlation_id": "7",
        "memcpy_details": "kind_src:pinned kind_dst:device size:1609728 dest:0 async:1"}},
    {"ph": "X", "pid": GPU, "tid": 13, "ts": 1.8, "dur": 1.0, "name": "Memset", "args": {
        "Memset_details": "kind:device num_bytes:512 async:1"}},
    {"ph": "X", "pid": GPU, "tid": 13, "ts": 9.0, "dur": 2.0, "name": "CudaGraph", "args": {
        "cuda_graph_exec_id": "4"}},
    {"ph": "X", "pid": GPU, "tid": 77, "ts": 2.0, "dur": 9.5, "name": "dot.3", "args": {
        "hlo_module": "jit_step", "hlo_op": "dot.3"}},
    {},
]  # fmt: skip
"""As xla/backends/profiler/gpu/cupti_collector.cc writes it, with the host's side of a copy, and
the line of operators that is derived from the stream."""

MXNET = [
    {"ph": "M", "args": {"name": "gpu/0"}, "pid": 64, "name": "process_name"},
    {"name": "FullyConnected", "cat": "operator", "ph": "B", "ts": 4, "pid": 64, "tid": 9},
    {"name": "FullyConnected", "cat": "operator", "ph": "E", "ts": 8, "pid": 64, "tid": 9},
]
"""As src/profiler/profiler.cc and profiler.h of apache/mxnet write it."""


@pytest.fixture
def reading(tmp_path):
    """Writes events to a file, and returns what is read from its folder."""

    def reading(events, name="one.json", whole=None):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(whole or {"traceEvents": events}).encode()
        file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return traces.read(str(tmp_path))

    return reading


@pytest.mark.parametrize(
    ("events", "name", "copy", "others"),
    [
        (KINETO, "a.pt.trace.json", ("copy host to device", "Memcpy HtoD (Pinned -> Device)"), 4),
        (PADDLE, "host_pid9.paddle_trace.json", ("copy device to host", "MEMCPY_DtoH"), 2),
        (XLA, "plugins/profile/1/vm.trace.json.gz", ("copy host to device", "MemcpyH2D"), 3),
    ],
    ids=["kineto", "paddle", "xla"],
)
def test_calls_of_the_device_are_told_from_all_else(reading, events, name, copy, others):
    found = reading(events, name)
    kernel, copied, cleared, *graphs = found.calls
    assert (kernel.kind, kernel.name) == ("kernel", SGEMM)
    assert kernel.launch == "grid 8x12x1 block 128x1x1"
    assert (kernel.count, kernel.milliseconds, kernel.moved_bytes) == (1, 0.0095, None)
    assert (copied.kind, copied.name) == copy
    assert (copied.milliseconds, copied.moved_bytes, copied.launch) == (0.031, 1609728.0, "")
    assert (cleared.kind, cleared.moved_bytes) == ("set", 512.0)
    assert [graph.kind for graph in graphs] == (["graph"] if events is XLA else [])
    assert (found.other_events, found.unread) == (others, 0)


def test_operators_are_no_kernels(reading):
    assert reading(MXNET) == Traced(calls=[], other_events=1, unread=0)


def test_equal_calls_are_one_and_other_launches_are_not(reading):
    kernel, copy = KINETO[5], KINETO[6]
    wider = {**kernel, "args": {**kernel["args"], "grid": [16, 12, 1]}}
    found = reading([kernel, copy, wider, kernel, copy]).calls
    assert [(call.count, call.launch[:9]) for call in found] == [
        (2, "grid 8x12"), (2, ""), (1, "grid 16x1")
    ]  # fmt: skip
    assert found[0].milliseconds == pytest.approx(0.019)
    assert found[1].moved_bytes == 2 * 1609728


@pytest.mark.parametrize(
    ("name", "direction"),
    [("Memcpy DtoD (Device -> Device)", " device to device"), ("MemcpyP2P", " peer to peer"),
     ("MEMCPY_HtoA", " host to array"), ("MemcpyOther", "")],
)  # fmt: skip
def test_a_copy_says_its_direction_if_it_has_one(reading, name, direction):
    (found,) = reading([{**KINETO[6], "name": name}]).calls
    assert found.kind == f"copy{direction}"


def test_what_lacks_its_time_is_counted_and_what_lacks_more_is_not_made_up(reading):
    bare = {"ph": "X", "cat": "Kernel", "name": "k"}
    lost = [{**bare, "dur": time} for time in ("N/A", -1, float("nan"), float("inf"))]
    found = reading([bare, *lost, {**bare, "dur": 4}])
    assert found.unread == 5
    (call,) = found.calls
    assert (call.launch, call.moved_bytes, call.milliseconds) == ("", None, 0.004)


def test_all_traces_of_a_folder_count_and_a_list_is_a_trace_too(reading):
    reading([], "one.json", whole=KINETO)
    assert len(reading(PADDLE, "below/two.json").calls) == 5


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("notes.txt", b"{}", "wrote no trace"),
        ("one.json", b'{"traceEvents": [', "one.json: Expecting value"),
        ("one.json.gz", b"plain", "one.json.gz: Not a gzipped file"),
        ("one.json.gz", gzip.compress(b"[]" * 99, mtime=0)[:20], "one.json.gz"),
        ("one.json", b'{"events": []}', "one.json has no trace events"),
        ("one.json", b'"text"', "one.json has no trace events"),
        ("one.xplane.pb", b"\x0a\xff", "one.xplane.pb"),
    ],
)
def test_what_is_no_trace_says_so(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=said):
        traces.read(str(tmp_path))


def test_a_name_may_hold_what_strict_json_forbids(tmp_path):
    (tmp_path / "one.json").write_bytes(
        b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a\tb\xff", "dur": 1}]}'
    )
    (call,) = traces.read(str(tmp_path)).calls
    assert call.name == "a\tb\ufffd"
