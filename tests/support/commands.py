"""Runs commands of mbench, each in a process of its own that begins with all modules imported.

Importing them takes a third of a short command's processor time. So one process imports them, once
for all tests, and forks for each command. Tests of how a command starts run Python instead.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["mbench"]

TESTS = Path(__file__).parents[1]
PACKAGES = ("api", "cli", "explain", "fleet", "measure", "proofs", "reports", "results")
FURTHER = ("mbench.engine.launchers", "mbench.plugins.manager", "scipy.special")
FILES = 4
"""How many files come with a request: stdin, stdout, stderr, and one that is told its end."""
LARGEST = 2**20


def mbench(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """What subprocess.run returns for `python -m mbench` with these arguments, and its output."""
    variables = {**(os.environ if env is None else env)}
    if starting(variables) != starting(os.environ):
        return subprocess.run(
            [sys.executable, "-m", "mbench", *arguments], env=variables, cwd=cwd, timeout=timeout,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    request = {"arguments": arguments, "env": variables, "cwd": str(cwd or Path.cwd())}
    told, telling = os.pipe()
    with (
        open(os.devnull) as nothing,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err,
        open(told) as answers,
    ):
        with open(telling, "w"):
            files = [one.fileno() for one in (nothing, out, err)]
            socket.send_fds(server(), [json.dumps(request).encode()], [*files, telling])
        pid = int(answers.readline())
        if not select.select([answers], [], [], timeout)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(["mbench", *arguments], timeout)
        code = int(answers.readline())
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(["mbench", *arguments], code, *texts)


def starting(variables: Mapping[str, str]) -> set[tuple[str, str]]:
    """What Python itself, or the linker, reads when a process starts."""
    hides = {"sitecustomize", "numpy", *sys.modules}  # what is imported by then
    paths = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    files = {str(file) for path in paths for file in Path(path).glob("*.py") if file.stem in hides}
    return {(file, "") for file in files} | {
        (name, value) for name, value in variables.items()
        if name.startswith(("PYTHON", "LANG", "LC_", "LD_")) and name != "PYTHONPATH"
    }  # fmt: skip


@cache
def server() -> socket.socket:
    """A socket to the process that forks. It ends with this one; tests, which count children, do
    not see it as one.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = (
        f"import os, sys; os.fork() and os._exit(0); sys.path.insert(0, {str(TESTS)!r}); "
        f"from support.commands import serve; serve({its.fileno()})"
    )
    subprocess.run(
        [sys.executable, "-c", code], pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=True,
    )  # fmt: skip
    its.close()
    atexit.register(ours.close)
    return ours


def serve(descriptor: int) -> None:
    """Fork for each request until there are no more. A child does not return: it becomes mbench."""
    sys.path.remove(str(TESTS))
    for package in PACKAGES:
        found = importlib.import_module(f"mbench.{package}")
        for module in pkgutil.iter_modules(found.__path__, f"mbench.{package}."):
            with suppress(ImportError):  # a module may need an extra
                importlib.import_module(module.name)
    for name in FURTHER:
        importlib.import_module(name)
    requests = socket.socket(fileno=descriptor)
    while True:
        message, files, _, _ = socket.recv_fds(requests, LARGEST, FILES)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            requests.close()
            become(json.loads(message), files)
        *_, telling = files
        os.write(telling, f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):  # the test has waited too long
            os.write(telling, f"{code}\n".encode())
        for file in files:
            os.close(file)


def become(request: dict, files: list[int]) -> None:
    """Run the command, as `python -m mbench` would; does not return."""
    from mbench.__main__ import main

    for number, file in enumerate(files):
        if number <= sys.__stderr__.fileno():
            os.dup2(file, number)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [str(Path(sys.modules["mbench"].__file__).parent / "__main__.py"),
                *request["arguments"]]  # fmt: skip
    paths = request["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in paths if path and path not in sys.path]
    tempfile.tempdir = None
    importlib.invalidate_caches()
    main()
