"""A fake fio, for what the real one seldom does."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def direction(**changes):
    """What fio reports on reading or writing, with only the keys that mbench reads."""
    return {
        "io_bytes": 4_096_000, "bw_bytes": 8_192_000, "iops": 2000.5, "total_ios": 1000,
        "short_ios": 0, "drop_ios": 0,
        "lat_ns": {"min": 1, "percentile": {"50.000000": 500, "95.000000": 950,
                                            "99.000000": 990, "99.900000": 999}},
        **changes,
    }  # fmt: skip


def told(*, error=0, notes="", **directions):
    """What fio prints: `notes`, then a JSON document on one job."""
    nothing = direction(io_bytes=0, bw_bytes=0, iops=0.0, total_ios=0, lat_ns={"min": 0})
    job = {"jobname": "any", "error": error, "read": nothing, "write": nothing, **directions}
    return notes + json.dumps({"fio version": "fio-3.33", "jobs": [job]})


def install(folder, lines):
    """Write a `fio` to `folder` that runs these lines of Python unless asked for its version."""
    folder.mkdir(exist_ok=True)
    script = folder / "fio"
    head = 'import json, os, sys, time\nif "--version" in sys.argv: sys.exit(print("fio-9"))\n'
    script.write_text(f"#!{sys.executable}\n{head}{lines}\n")
    script.chmod(0o755)
