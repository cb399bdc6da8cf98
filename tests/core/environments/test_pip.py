"""What pip's output means."""

from __future__ import annotations

import pytest

from mbench.environments.build import PipFailed, most_informative, progress


@pytest.mark.parametrize(
    ("line", "news"),
    [
        ("Collecting toy==1.0", "Collecting toy"),
        ("Collecting toy-lib<3,>=1.0 (from toy==1.0)", "Collecting toy-lib"),
        (
            "Downloading toy-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (191.0 MB)",
            "Downloading toy-2.13.0 (191.0 MB)",
        ),
        (
            "Downloading toy-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl (191.0 MB)",
            "Downloading toy-2.13.0+cpu (191.0 MB)",
        ),
        (
            "Downloading https://a.b/c/toy_lib-1.0.post1-py3-none-any.whl (12 kB)",
            "Downloading toy_lib-1.0.post1 (12 kB)",
        ),
        ("Using cached toy-lib-1.0.tar.gz (3 kB)", "Using cached toy-lib-1.0 (3 kB)"),
        ("Processing /links/toy-1.0-py3-none-any.whl", "Processing toy-1.0"),
        ("Processing ./links/toy-1.0-py3-none-any.whl (from toy==1.0)", "Processing toy-1.0"),
        ("Building wheel for toy (pyproject.toml): started", "Building toy"),
        ("Building wheel for toy (pyproject.toml): finished with status 'done'", None),
        ("Installing collected packages: toy", "Installing toy"),
        ("Installing collected packages: a, b, toy", "Installing 3 packages"),
        ("Downloading toy-2.13.0-py3-none-any.whl.metadata (29 kB)", None),
        ("Requirement already satisfied: toy", None),
        ("", None),
    ],
)
def test_progress(line: str, news: str | None) -> None:
    assert progress(line) == news


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (
            [
                "ERROR: Could not find a version",
                "ERROR: No matching distribution found for toy==99",
                "",
            ],
            "No matching distribution found for toy==99",
        ),
        (
            [
                "ERROR: Cannot install a and b because they conflict.",
                "",
                "To fix this you could",
                "ERROR: ResolutionImpossible: for help visit a page",
            ],
            "Cannot install a and b because they conflict",
        ),
        (
            [
                "ERROR: Could not install: [Errno 28] No space left on device",
                "WARNING: something else",
            ],
            "Could not install: [Errno 28] No space left on device",
        ),
        (
            [
                "error: metadata-generation-failed",
                "",
                "\N{MULTIPLICATION SIGN} Encountered error while generating package metadata.",
                "\u2570\u2500> toy",
                "",
                "hint: See above for details.",
            ],
            "Encountered error while generating package metadata: toy",
        ),
        *[
            (
                [
                    "WARNING: Retrying (Retry(total=0, redirect=None)) after connection broken by "
                    f"{broken}: /simple/toy/",
                    "ERROR: No matching distribution found for toy==99",
                ],
                "No matching distribution found for toy==99: the package index could not be "
                f"reached: {reason}",
            )
            for broken, reason in (
                (
                    "'NewConnectionError('<urllib3.HTTPConnection object at 0x7fd7>: Failed to "
                    "establish a new connection: [Errno 111] Connection refused')'",
                    "Failed to establish a new connection: [Errno 111] Connection refused",
                ),
                (
                    "'NameResolutionError(\"HTTPSConnection(host='no.such', port=443): Failed to "
                    "resolve 'no.such' ([Errno -2] Name or service not known)\")'",
                    "Failed to resolve 'no.such' ([Errno -2] Name or service not known)",
                ),
            )
        ],
        (
            [
                "WARNING: Retrying after connection broken by 'ReadTimeoutError('late')': /toy/",
                "ERROR: Could not install: [Errno 28] No space left on device",
            ],
            "Could not install: [Errno 28] No space left on device",
        ),
        (["Traceback", "MemoryError", ""], "MemoryError"),
        ([], ""),
    ],
)
def test_most_informative(lines: list[str], line: str) -> None:
    assert most_informative(lines) == line


@pytest.mark.parametrize(
    ("said", "found_nothing"),
    [
        ("No matching distribution found for toy==99", True),
        ("No matching distribution found for toy==99: the package index could not be reached: no",
         False),
        ("Could not install: [Errno 28] No space left on device", False),
    ],
)  # fmt: skip
def test_an_index_that_was_not_reached_lacks_nothing(said: str, found_nothing: bool) -> None:
    assert PipFailed(said).found_nothing is found_nothing
