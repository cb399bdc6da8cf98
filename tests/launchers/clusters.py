"""Engines of clusters, started for a test on hosts that are on this machine, and ended with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from network import PARENT, PREFIX, Host, enter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATIENCE = 60.0

CONF = """
ClusterName=mbench
SlurmctldHost={head}({parent})
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
SlurmdParameters=config_overrides
SlurmdTimeout=30
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def until(true, what: str, seconds: float = 40.0):
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, f"never {what}"
        time.sleep(0.1)
    return found


def kill_all(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def of_mark(mark: str) -> list[psutil.Process]:
    """Processes whose command line or environment contains `mark`, a text of one test alone."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            told = Path(f"/proc/{process.pid}/environ").read_bytes()
            if mark in " ".join(process.cmdline()) or mark.encode() in told:
                found.append(process)
    return [process for process in found if process.pid != os.getpid()]


def mpi_variables(folder: Path) -> dict[str, str]:
    """Variables that let mpirun enter hosts, by a script in place of ssh."""
    agent = folder / "enter"
    agent.write_text(enter())
    agent.chmod(0o755)
    network = f"{PREFIX}.0/24"
    return {
        "OMPI_MCA_plm_rsh_agent": str(agent), "OMPI_MCA_oob_tcp_if_include": network,
        "OMPI_MCA_btl_tcp_if_include": network,
    }  # fmt: skip


@contextlib.contextmanager
def slurm(folder: Path, hosts: Sequence[Host]) -> Iterator[dict[str, str]]:
    """A cluster of Slurm; yields the variables of a job that has all its hosts."""
    for name in ("state", *(f"spool-{host.name}" for host in hosts)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    nodes = "\n".join(
        f"NodeName={host.name} NodeHostname={host.name} NodeAddr={host.address} CPUs=8 "
        "RealMemory=1000 State=UNKNOWN"
        for host in hosts
    )
    conf = folder / "slurm.conf"
    head = socket.gethostname()
    conf.write_text(CONF.format(head=head, parent=PARENT, folder=folder, nodes=nodes))
    variables = {**os.environ, "SLURM_CONF": str(conf)}
    started = []

    def daemon(*words: str) -> None:
        log = (folder / "daemons.log").open("ab")
        started.append(
            subprocess.Popen(
                words,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        )
        log.close()

    try:
        daemon("munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
               f"--key-file={key}", f"--pid-file={folder}/munge.pid",
               f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")  # fmt: skip
        until((folder / "munge.socket").exists, "a munged")
        daemon("slurmctld", "-D", "-f", str(conf))
        for host in hosts:
            daemon(*host.command("slurmd", "-D", "-N", host.name, "-f", str(conf)))

        def idle() -> bool:
            asked = subprocess.run(["sinfo", "-h", "-o", "%D %t"], env=variables,
                                   capture_output=True, text=True, check=False)  # fmt: skip
            return f"{len(hosts)} idle" in asked.stdout

        until(idle, f"idle nodes: {conf.parent}")
        asked = subprocess.run(
            ["salloc", f"--nodes={len(hosts)}", "--exclusive", "--no-shell"], env=variables,
            capture_output=True, text=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
        job = next(word for word in asked.stderr.split() if word.isdecimal())
        yield {"SLURM_CONF": str(conf), "SLURM_JOB_ID": job, "SLURM_JOB_NUM_NODES": str(len(hosts))}
        subprocess.run(["scancel", job], env=variables, check=False)
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in reversed(started):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
        kill_all(of_mark(str(folder)))
        for process in started:
            process.kill()
            process.wait()


@contextlib.contextmanager
def ray(folder: Path, hosts: Sequence[Host]) -> Iterator[dict[str, str]]:
    """A cluster of Ray: a head without processors on this machine's own address, and the hosts."""
    binary = str(Path(sys.executable).with_name("ray"))
    mark = f"/tmp/{folder.name}"  # its sockets' paths must be short
    variables = {
        **os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1",
    }  # fmt: skip
    common = ("--num-gpus=0", "--object-store-memory=80000000", "--disable-usage-stats")

    def start(*words: str) -> None:
        done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False,
                              timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        start(binary, "start", "--head", f"--node-ip-address={PARENT}", "--port=9379",
              "--include-dashboard=false", "--num-cpus=0", f"--temp-dir={mark}",
              *common)  # fmt: skip
        for host in hosts:
            start(*host.command(binary, "start", f"--address={PARENT}:9379", "--num-cpus=4",
                                f"--node-ip-address={host.address}", *common))  # fmt: skip
        yield {"RAY_ADDRESS": f"{PARENT}:9379"}
    finally:
        kill_all(of_mark(mark))
        kill_all(of_mark(f"{PARENT}:9379"))
        for host in hosts:
            pids = set(host.pids())
            kill_all([process for process in psutil.process_iter() if process.pid in pids])
        shutil.rmtree(mark, ignore_errors=True)


@contextlib.contextmanager
def mpi(folder: Path, hosts: Sequence[Host]) -> Iterator[dict[str, str]]:
    """MPI has no daemons: all it needs is a way to enter hosts."""
    yield mpi_variables(folder)


def made(
    name: str, folder: Path, hosts: Sequence[Host]
) -> contextlib.AbstractContextManager[dict[str, str]]:
    return {"mpi": mpi, "slurm": slurm, "ray": ray}[name](folder, hosts)


def children() -> set[psutil.Process]:
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.add(process)
    return found


def keeping(*, agents: bool = True) -> list[psutil.Process]:
    """Workers of these tests, and their agents, wherever they are: namespaces hide no process."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            agent = "mbench.engine.agent" in words
            ours = agents if agent else any("bootstrap.py" in word for word in words)
            if ours and process.status() != psutil.STATUS_ZOMBIE and on_a_host(process.pid):
                found.append(process)
    return found


def workers() -> list[psutil.Process]:
    return keeping(agents=False)


def on_a_host(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    return False
