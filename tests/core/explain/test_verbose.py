"""Reading log lines that frameworks really wrote, and those of other versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from mbench.explain.verbose import parse, versions

LOGS = Path(__file__).parent / "logs"
"""Unchanged lines of the logs of frameworks of 2021 to 2026."""
PYTORCH = (LOGS / "pytorch.txt").read_text()
TENSORFLOW = (LOGS / "tensorflow.txt").read_text()
MXNET = (LOGS / "mxnet.txt").read_text()
PADDLE = (LOGS / "paddle.txt").read_text()
REORDER = "exec,cpu,reorder,jit:uni,undef,src_{}::blocked:ab:f0 dst_{}::blocked:ba:f0,,,{},0.5"


def kernels(text):
    parsed = parse(text)
    assert parsed.unread == 0
    return parsed.kernels


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (PYTORCH, {"oneDNN": "3.12.0", "MKL": "2024.0 Update 2"}),
        (TENSORFLOW, {"oneDNN": "3.7.3"}),
        (MXNET, {"oneDNN": "2.4.4"}),
        (PADDLE, {"MKL": "2019.0 Update 5"}),
        ("mkldnn_verbose,info,Intel MKL-DNN v0.21.2 (commit N/A)", {"oneDNN": "0.21.2"}),
        ("a log in which nobody tells of info,cpu,v8", {}),
    ],
)
def test_libraries_tell_their_versions(text, found):
    assert versions(text) == found


def test_a_convolution_of_version_3():
    convolution = kernels(PYTORCH)[1]
    assert convolution.library == "oneDNN"
    assert (convolution.primitive, convolution.implementation) == ("convolution", "jit:avx2")
    assert (convolution.propagation, convolution.algorithm) == (
        "forward_training", "convolution_direct"
    )  # fmt: skip
    assert convolution.layouts == ("src f32 abcd", "wei f32 Acdb8a", "bia f32 a", "dst f32 aBcd8b")
    assert convolution.shape == "mb2_ic3oc8_ih8oh6kh3sh1dh0ph0_iw8ow6kw3sw1dw0pw0"
    assert (convolution.count, convolution.milliseconds) == (1, 0.250977)
    assert convolution.moved_bytes is None


def test_a_tensor_that_is_not_there_has_no_layout():
    _, weights = kernels(TENSORFLOW)
    assert weights.layouts == ("src f32 acdb", "wei f32 cdba", "dst f32 acdb")
    relu, product = kernels(MXNET)
    assert relu.layouts == ("data f32 aBcd8b",)
    assert product.layouts == ("src f32 ab", "wei f32 ab", "dst f32 ab")


def test_a_product_through_the_library_s_own_blas():
    product, _ = kernels(TENSORFLOW)
    assert (product.primitive, product.implementation, product.propagation) == ("gemm_api", "", "")
    assert (product.shape, product.milliseconds) == ("2x10:10x384", 21.626)


def test_an_algorithm_stands_without_its_arguments():
    relu, _ = kernels(MXNET)
    assert relu.algorithm == "eltwise_relu"


def test_a_function_of_mkl_without_its_pointers():
    (product,) = kernels(PADDLE)
    assert (product.library, product.primitive) == ("MKL", "SGEMM")
    assert product.shape == "N,N,36,8,27,36,27,36"
    assert product.count == 2
    assert product.milliseconds == pytest.approx(53.60 + 0.02181)


@pytest.mark.parametrize(
    ("time", "milliseconds"), [("5ns", 5e-6), ("5.5us", 5.5e-3), ("5ms", 5.0), ("1.5s", 1500.0)]
)
def test_units_of_mkl(time, milliseconds):
    (found,) = kernels(f"MKL_VERBOSE DGEMM(N,N,1,2,3,0x1) {time} CNR:OFF")
    assert found.milliseconds == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    "prefix",
    [
        "dnnl_verbose,",
        "onednn_verbose,",
        "onednn_verbose,primitive,",
        "onednn_verbose,v1,primitive,",
        "onednn_verbose,v1,1693533460193.346924,primitive,",
        "I am a framework, without a newline: onednn_verbose,v1,primitive,",
    ],
)
def test_each_version_has_more_before_the_same(prefix):
    (found,) = kernels(prefix + REORDER.format("f32", "f32", "8x4"))
    assert (found.primitive, found.shape) == ("reorder", "8x4")


@pytest.mark.parametrize(
    ("source", "target", "moved"),
    [("f32", "f32", 32 * 8), ("f32", "bf16", 32 * 6), ("s8", "f8_e5m2", 64), ("u4", "s8", 48)],
)
def test_bytes_that_a_reorder_moves(source, target, moved):
    (found,) = kernels("onednn_verbose," + REORDER.format(source, target, "8x4"))
    assert found.moved_bytes == moved


def test_a_reorder_of_sizes_that_are_not_told_moves_what_is_not_known():
    (found,) = kernels("onednn_verbose," + REORDER.format("f32", "f32", "*x4"))
    assert found.moved_bytes is None


def test_a_format_that_is_no_order_of_axes_is_told_by_its_kind():
    line = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx2,undef,{},,,2x3:3x4,1"
    (found,) = kernels(line.format("src:f32::any::f0 wei:f32:p:rnn_packed:::f0"))
    assert found.layouts == ("src f32 any", "wei f32 rnn_packed")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a framework says exec, and means it",
        "onednn_verbose,v1,primitive,create:cache_miss,cpu,reorder,jit:uni,undef,x,,,2x8,0.1",
        "onednn_verbose,v1,primitive,error,ocl,errcode -42",
        "onednn_verbose,v1,graph,exec,cpu,100002,conv_post_ops,conv,,in0_f32:0,fpm:strict,a,b,0.1",
        "MKL_VERBOSE Intel(R) MKL 2019.0 Update 5",
    ],
)
def test_what_tells_of_no_call_is_passed_over(line):
    assert kernels(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_nchw out:f32_nChw8c,num:1,2x8x6x6,0.02",
        "onednn_verbose,exec,cpu,reorder",
        "onednn_verbose," + REORDER.format("f32", "f33", "2x2"),
        "onednn_verbose," + REORDER.format("f32", "f32", "2x2").replace("0.5", "soon"),
    ],
)
def test_a_call_that_cannot_be_read_is_counted(line):
    parsed = parse(PADDLE + line)
    assert (len(parsed.kernels), parsed.unread) == (1, 1)


def test_equal_calls_are_one_kernel_and_others_are_not():
    lines = [REORDER.format("f32", "f32", shape) for shape in ("8x4", "8x4", "4x4")]
    found = kernels("\n".join("onednn_verbose," + line for line in lines))
    assert [(kernel.shape, kernel.count, kernel.moved_bytes) for kernel in found] == [
        ("8x4", 2, 512.0), ("4x4", 1, 128.0)
    ]  # fmt: skip
