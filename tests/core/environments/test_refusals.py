"""Causes in the output of pip and virtualenv: if an index refuses, no package is blamed for it."""

from __future__ import annotations

import http.server
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from mbench.environments.build import PipFailed, install, most_informative
from mbench.environments.refusals import LONGEST, cause_of, refusal

AT = "2026-11-28T05:10:28,346 Could not fetch URL http://a.b/simple/toy/: "


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("401 Client Error: Unauthorized for url: x",
         "the package index http://a.b/simple refused access (401 Unauthorized): check the user"),
        ("403 Client Error: Forbidden for url: x", "refused access (403 Forbidden): check the us"),
        ("407 Client Error: Proxy Authentication Required for url: x", "refused access (407 Pr"),
        ("404 Client Error: Not Found for url: x",
         "the package index http://a.b/simple has no toy (404 Not Found): check its address and t"),
        ("502 Server Error: Bad Gateway for url: x", "reported an error (502 Bad Gateway): try ag"),
        ("HTTPConnectionPool(host='a.b', port=80): Max retries exceeded with url: /simple/toy/ "
         "(Caused by ResponseError('too many 500 error responses'))",
         "the package index http://a.b/simple reported an error (500 server error): try again"),
        ("connection error: [Errno 111] Connection refused",
         "the package index could not be reached (http://a.b/simple): Connection refused"),
        ("proxy connection error: ('Unable to connect to proxy', NewConnectionError(\"HTTPSConn"
         "ection(host='127.0.0.1', port=9): Failed: [Errno 111] Connection refused\"))",
         "could not be reached through the proxy (http://a.b/simple): Connection refused"),
        ("There was a problem confirming the ssl certificate: self-signed certificate",
         "not be reached (http://a.b/simple): There was a problem confirming the ssl certificate"),
    ],
)  # fmt: skip
def test_what_an_index_answered_is_the_cause(said, cause):
    found = refusal(f"{AT.replace('a.b', 'c.d')}404 Client Error: x for url: y - skipping\n"
                    f"{AT}{said} - skipping\n")  # fmt: skip
    assert cause in found
    assert bool(found) == bool(cause)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Traceback ...\nOSError: [Errno 28] No space left on device: '/x'\nmore",
         "No space left on device: free some space, or give another folder"),
        ("[Errno 30] Read-only file system", "Read-only file system: give another folder"),
        ("[('a', 'b', '[Errno 122] Disk quota exceeded')]",
         "Disk quota exceeded: delete some of your files, or give another folder"),
        ("one\n  two  \n", "two"),
        ("x" * 3000, "x" * LONGEST),
        ("", ""),
    ],
)  # fmt: skip
def test_the_systems_error_is_the_cause_of_a_traceback(text, cause):
    assert cause_of(text) == cause


def test_a_wrong_hash_is_said_in_one_sentence():
    said = most_informative(
        ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you ...",
         "toy@ file:///toy.whl#sha256=a from file:///toy.whl:", "Expected sha256 a", "Got b"]
    )  # fmt: skip
    assert said.startswith("what the index returned for toy@ does not match its hash: ")


@contextmanager
def index(status):
    """A package index that answers all requests with `status`; gives its address."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "refused access (401"), (403, "refused access (403"), (500, "reported an error (500"),
     (404, "has no toy-that-is-not (404 Not Found): check its address and the name"),
     (0, "index could not be reached")],
)  # fmt: skip
def test_pip_itself_is_understood(tmp_path, status, said):
    with index(status or 404) as address, (tmp_path / "log").open("w") as log:
        address = address if status else "http://127.0.0.1:9/simple"
        variables = {"PIP_INDEX_URL": address, "PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null",
                     "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "",
                     "PIP_NO_INDEX": "0"}  # fmt: skip
        python = Path(sys.executable)
        with pytest.raises(PipFailed) as error:
            install(python, ["toy-that-is-not"], variables=variables, log=log, report=print)
    assert said in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert error.value.found_nothing == (status == 404)
