"""A fresh Debian in a folder, where commands run as in a container, on the host's network."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SUITE = "bookworm"
NEEDED = ("mmdebstrap", "unshare", "chroot")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
THEIRS = "/etc/host.pem"
"""Where the root has the host's certificates: the way to the network may need one of them."""
NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
           "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")  # fmt: skip
ENTER = """
set -e
mount -t proc proc {root}/proc
mount --rbind /dev {root}/dev
mount --rbind /sys {root}/sys
exec chroot {options} {root} env -i {variables} sh -c {command}
"""


def lacking() -> str:
    """Why there can be no such root; empty if there can."""
    if os.geteuid() != 0:
        return "only root can make a Debian root"
    missing = [program for program in NEEDED if not shutil.which(program)]
    return f"{', '.join(missing)} missing" if missing else ""


class Debian:
    """A Debian root. Each command has its own namespaces: processes and mounts end with it."""

    def __init__(self, root: Path) -> None:
        """Create the root, without anything that a minimal Debian does not have."""
        self.root = root
        subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", SUITE, str(root)], check=True)
        shutil.copy("/etc/resolv.conf", self.at("/etc/resolv.conf"))
        self.variables = {name: os.environ[name] for name in NETWORK if name in os.environ}
        if CERTIFICATES.exists():
            shutil.copy(CERTIFICATES, self.at(THEIRS))
            self.variables |= {"PIP_CERT": THEIRS, "SSL_CERT_FILE": THEIRS}
        self.variables["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def run(
        self,
        command: str,
        *,
        variables: Mapping[str, str] = {},
        user: int = 0,
        folder: str = "/",
        seconds: float = 900,
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command as a user in a folder; its exit code is returned, but not checked."""
        given = shlex.join(
            f"{name}={value}" for name, value in (self.variables | {**variables}).items()
        )
        text = ENTER.format(
            root=shlex.quote(str(self.root)),
            options=f"--userspec={user}:{user}" if user else "",
            variables=given,
            command=shlex.quote(f"cd {shlex.quote(folder)} && {command}"),
        )
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", text]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
