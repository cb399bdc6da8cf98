"""Tables of the kernels that a step calls, by its libraries or by its profiler."""

from __future__ import annotations

import pytest

from mbench.explain.kernels import Evidence, StepKernels, beyond
from mbench.explain.kernels_report import LONGEST, of_kernels, short
from mbench.explain.verbose import Kernel

FUNCTOR = "at::native::CUDAFunctor_add<{0}>"
ADD = (
    f"void at::native::vectorized_elementwise_kernel<4, {FUNCTOR}, std::array<char*, 3ul> >"
    f"(int, {FUNCTOR}, std::array<char*, 3ul>)"
)


def kernel(primitive, implementation, *, count=1, milliseconds=0.5, moved=None):
    return Kernel(library="", primitive=primitive, implementation=implementation, propagation="",
                  algorithm="", layouts=(), shape="", count=count, milliseconds=milliseconds,
                  moved_bytes=moved)  # fmt: skip


def listed(*kernels, profiled=True, reason="", libraries=None):
    libraries = {"CUDA": "12.9"} if libraries is None else libraries
    evidence = Evidence(profiled=profiled, libraries=libraries, kernels=list(kernels))
    return [StepKernels(label="one", evidence=evidence, reason=reason)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (ADD.format("float"), "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, array<…>>"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_nn>(cutlass_80::Params)",
         "Kernel2<cutlass_80_simt_sgemm_128x64_nn>"),
        ("void (anonymous namespace)::softmax_warp_forward<float, 8, true>(float*, int)",
         "softmax_warp_forward<float, 8, true>"),
        ("void a::k<128, a::f<a::g(a::T&)::{lambda()#3}::operator()() const>(int)::{lambda(int)#1}>"
         "(int)", "k<128, f<…>::{lambda#1}>"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(int)",
         "kernel<int, float>"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("input_reduce_fusion_1", "input_reduce_fusion_1"),
        ("k(int) -> void", "k - void"),
        ("odd>)<name", "odd<name"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_name_is_shown_without_return_type_arguments_and_inner_templates(name, said):
    assert short(name) == said


def test_a_name_that_is_still_too_long_is_cut():
    said = short("sm80_xmma_" + "x" * 200)
    assert len(said) == LONGEST
    assert said.endswith("…")


def test_names_that_are_shortened_alike_are_one_row_and_the_longest_is_first():
    made = listed(
        kernel("copy host to device", "Memcpy HtoD (Pinned -> Device)", moved=3e6),
        kernel("kernel", ADD.format("float"), count=3, milliseconds=1.0),
        kernel("kernel", ADD.format("double"), count=2, milliseconds=2.0),
        kernel("kernel", "sgemm", milliseconds=2.5),
    )
    (grid,) = of_kernels(made)
    assert grid.title == "one: kernels of one step, by CUDA 12.9"
    assert grid.rows == [
        ["kernel", "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, array<…>>", 5, 3.0, None],
        ["kernel", "sgemm", 1, 2.5, None],
        ["copy host to device", "Memcpy HtoD (Pinned -> Device)", 1, 0.5, 3.0],
    ]
    (note,) = grid.notes
    assert note.startswith("in total: 1 x copy host to device (3 MB), 6 x kernel; ")
    assert note.endswith("evidence, not a timing")
    (whole,) = of_kernels(made, whole=True)
    assert [row[1] for row in whole.rows[:2]] == ["sgemm", ADD.format("double")]


def test_a_table_has_the_first_names_and_says_how_many_more_there_are():
    kernels = [kernel("kernel", f"k{at}", milliseconds=9 - at) for at in range(5)]
    (grid,) = of_kernels(listed(*kernels), most=2)
    assert [row[1] for row in grid.rows] == ["k0", "k1"]
    assert "in total: 5 x kernel" in grid.notes[0]
    assert grid.notes[1].startswith("3 more names")


def test_calls_of_libraries_are_listed_by_how_often_they_were_made():
    reorder = kernel("reorder", "jit:uni", count=2, moved=5e5)
    product = kernel("matmul", "brg", count=7)
    made = listed(reorder, product, profiled=False, libraries={"oneDNN": "3.7", "MKL": "2024"})
    (grid,) = of_kernels(made, most=1)
    assert grid.title == "one: kernels of one step, by oneDNN 3.7, MKL 2024"
    assert grid.rows == [["matmul", "", "brg", 7, None], ["reorder", "", "jit:uni", 2, 0.5]]


@pytest.mark.parametrize(
    ("profiled", "by"), [(True, "profiler"), (False, "library that logs them")]
)
def test_where_nothing_is_reported_the_reason_is(profiled, by):
    (grid,) = of_kernels(listed(profiled=profiled, reason="unsupported: no", libraries={}))
    assert grid.title == f"one: kernels of one step, by no {by}"
    assert (grid.rows, grid.notes) == ([], ["unsupported: no"])


def test_what_a_longer_step_calls_beyond_another_is_what_its_stage_calls():
    less = [kernel("matmul", "gemm", count=2), kernel("reorder", "jit", count=1, moved=8.0)]
    more = [kernel("matmul", "gemm", count=6, milliseconds=3.0), kernel("softmax", "ref"),
            kernel("reorder", "jit", count=1, moved=8.0)]  # fmt: skip
    found = beyond(more, less)
    assert [(one.primitive, one.count) for one in found] == [("matmul", 4), ("softmax", 1)]
    assert found[0].milliseconds == pytest.approx(2.0)


def test_a_stage_has_a_table_of_its_own_and_the_step_one_where_it_was_asked_for():
    evidence = Evidence(
        profiled=False, libraries={"oneDNN": "3.9"}, kernels=[kernel("matmul", "gemm")],
        stages={"layer3": [kernel("reorder", "jit", count=3, moved=2e6)]},
    )  # fmt: skip
    for asked, titles in (
        (True, ["one: kernels of one step, by oneDNN 3.9",
                "one: kernels of stage layer3, by oneDNN 3.9"]),
        (False, ["one: kernels of stage layer3, by oneDNN 3.9"]),
    ):  # fmt: skip
        made = of_kernels([StepKernels(label="one", evidence=evidence, asked=asked)])
        assert [grid.title for grid in made] == titles
        assert made[-1].rows == [["reorder", "", "jit", 3, 2.0]]
