"""The files of packages that a worker's program needs."""

from __future__ import annotations

import os

from mbench.plugins.launcher import package_files


def test_modules_are_found_by_their_top_level_package():
    files = package_files(["mbench.contract.wire", "mbench_tiny"])
    assert files["mbench"].endswith(os.path.join("mbench", "__init__.py"))
    assert files["mbench_tiny"].endswith("mbench_tiny.py")
