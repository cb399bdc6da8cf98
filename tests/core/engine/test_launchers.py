"""Which launcher a command uses, and what it reports, before a start, if it cannot use one."""

from __future__ import annotations

import os
import stat

import pytest

from mbench.contract.rank import parse_scale
from mbench.engine import mpi
from mbench.engine import ray as ray_launcher
from mbench.engine.cluster import Cluster
from mbench.engine.launchers import Launchers
from mbench.engine.mpi import JOB_FILES, hosts_in, hosts_of_job
from mbench.errors import UsageError
from mbench.spec.experiment import Launch


@pytest.fixture
def launcher(plugins, monkeypatch, tmp_path):
    """Opens the launcher of a command that measures at a scale."""
    for name in (*JOB_FILES, "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with Launchers(plugins) as launchers:

        def launcher(scale, name=None, hosts=None):
            nodes = parse_scale(scale).nodes
            return launchers.open(Launch(launcher=name, hosts=hosts), nodes=nodes, accelerators=0)

        yield launcher


@pytest.fixture
def mpirun(tmp_path):
    """Puts an mpirun on the PATH that prints the given text."""

    def mpirun(said):
        file = tmp_path / "mpirun"
        file.write_text(f"#!/bin/sh\necho '{said}'\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    return mpirun


@pytest.mark.parametrize("scale", ["1x1", "1x8"])
def test_one_node_is_this_machine(launcher, scale, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert not hasattr(launcher(scale), "agents")


def test_several_nodes_are_hosts_that_are_named(launcher, mpirun):
    mpirun("mpirun (Open MPI) 4.1.4")
    found = launcher("2x4", hosts="a,b")
    assert isinstance(found, Cluster)
    words = found.agents.engine.command(2, ["python"], ["MBENCH_TOKEN"])
    assert words[words.index("--host") + 1] == "a:1,b:1"
    assert words[-3:] == ["-x", "MBENCH_TOKEN", "python"]
    assert launcher("1x1", hosts="a").agents.count == 1  # that machine, and not this one


def test_agents_of_a_command_are_started_once(launcher, mpirun):
    mpirun("mpirun (Open MPI) 4.1.4")
    found = launcher("2x4", hosts="a,b")
    assert launcher("2x4", hosts="a,b") is found
    assert launcher("1x4", hosts="a,b") is found
    assert launcher("2x4", hosts="a,c") is not found


def test_several_nodes_are_those_of_a_job_of_slurm(launcher, tmp_path, monkeypatch):
    (tmp_path / "srun").symlink_to("/bin/true")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    found = launcher("2x4")
    assert found.agents.engine.command(2, ["python"], [])[0] == "srun"
    with pytest.raises(UsageError, match="has 2 nodes, but 3 are requested: salloc --nodes=3"):
        launcher("3x4")


def test_several_nodes_are_those_of_ray(launcher, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "nowhere:6379")
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="--launcher ray: this needs Ray, from mbench's extra ray"):
        launcher("2x1")
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: name)
    for code, said in ((f"echo {1}", "but 2 are requested"), ("no-such-thing", "not ans")):
        python = os.path.join(os.environ["PATH"], "python")
        with open(python, "w") as file:
            file.write(f"#!/bin/sh\n{code}\n")
        os.chmod(python, 0o755)
        monkeypatch.setattr(ray_launcher.sys, "executable", python)
        with pytest.raises(UsageError, match=said):
            launcher("2x1")


@pytest.mark.parametrize(
    ("scale", "name", "hosts", "said"),
    [
        ("2x1", None, None, r"no cluster was detected: start mbench within a Slurm job "
         r"\(salloc, sbatch\), give --hosts a,b or --hosts @FILE for MPI, set RAY_ADDRESS, or use"),
        ("2x1", "local", None, "2 nodes are requested; give another launcher, or 1 node"),
        ("2x1", "slurm", "a,b", "--hosts goes with --launcher mpi, not slurm"),
        ("1x1", "local", "a", "--hosts goes with --launcher mpi, not local"),
        ("2x1", "mpi", None, "needs hosts: give --hosts a,b or --hosts @FILE"),
        ("3x1", "mpi", "a,b", "--hosts a,b names 2 hosts, but 3 nodes are requested"),
        ("2x1", "mpi", "a,b", "mpirun, which is not on the PATH"),
        ("2x1", "slurm", None, "srun, which is not on the PATH"),
        ("2x1", "made-up", None, "unknown launcher 'made-up'"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_told_in_one_line(launcher, scale, name, hosts, said):
    with pytest.raises(UsageError, match=said):
        launcher(scale, name, hosts)


def test_another_mpi_is_told(launcher, mpirun):
    mpirun("HYDRA build details:")
    with pytest.raises(UsageError, match="needs Open MPI's mpirun, but this one reports 'HYDRA"):
        launcher("2x1", hosts="a,b")


def test_srun_alone_is_no_job(launcher, tmp_path):
    (tmp_path / "srun").symlink_to("/bin/true")
    with pytest.raises(UsageError, match="works only within a job"):
        launcher("2x1", "slurm")


def test_hosts_in_a_file(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("# ours\none slots=8\n\n  10.0.0.2:4  # two\n::1\n")
    assert hosts_in(f"@{file}") == ("one", "10.0.0.2", "localhost")


@pytest.mark.parametrize(
    "content",
    [b"n01\nn01\nn02\nn02\n", b"\xef\xbb\xbfn01\r\nn02\r\n", b"n[01-02]\n", b"n01,n02\n",
     b"n01 8 all.q@n01 UNDEFINED\nn02 8 all.q@n02 UNDEFINED\n",
     b"n01 slots=4 max_slots=8\nN02\nn02"],
    ids=["PBS", "Windows", "range", "commas", "Grid Engine", "Open MPI"],
)  # fmt: skip
def test_files_of_other_systems(tmp_path, content):
    file = tmp_path / "my hosts"
    file.write_bytes(content)
    assert [host.lower() for host in hosts_in(f"@{file}")] == ["n01", "n02"]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("n[01-03]", ["n01", "n02", "n03"]), ("n[8-11]x", ["n8x", "n9x", "n10x", "n11x"]),
     ("a,r[1-2]n[1,3]", ["a", "r1n1", "r1n3", "r2n1", "r2n3"]), ("n[007]", ["n007"])],
)  # fmt: skip
def test_ranges_of_hosts(text, hosts):
    assert list(hosts_in(text)) == hosts


def test_a_host_by_several_names_is_one(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "node1.cluster")
    assert hosts_in("localhost,127.0.0.1,node1,NODE1.cluster,b") == ("localhost", "b")
    assert hosts_in("::1,[::1],localhost") == ("localhost",)
    assert hosts_in("a,a:2,b") == ("a", "b")


def test_hosts_of_batch_jobs(tmp_path, launcher, mpirun, monkeypatch):
    mpirun("mpirun (Open MPI) 4.1.4")
    file = tmp_path / "aux"
    file.write_text("n1\nn1\nn2\nn2\n")
    for name in JOB_FILES:
        assert hosts_of_job({name: str(file)}) == f"@{file}"
    assert hosts_of_job({"SLURM_JOB_NODELIST": "n[1-2]"}) == "n[1-2]"
    monkeypatch.setenv("PBS_NODEFILE", str(file))
    words = launcher("2x1").agents.engine.command(2, ["python"], [])
    assert words[words.index("--host") + 1] == "n1:1,n2:1"
    with pytest.raises(UsageError, match="aux names 2 hosts, but 3 nodes are requested"):
        launcher("3x1")


@pytest.mark.parametrize(("user", "passed"), [(0, True), (1000, False)])
def test_mpirun_may_run_as_root_and_that_is_said(monkeypatch, capsys, user, passed):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.delenv(mpi.ALLOWED, raising=False)
    mpi.say_root.cache_clear()
    for _ in range(2):
        words = mpi.Mpi(["a"]).command(1, ["python"], [])
        assert ("--allow-run-as-root" in words) is passed
    assert capsys.readouterr().err.count("you are root, so mbench passes") == passed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,,b", "'' is not a host"),
        ("a,--x", "'--x' is not a host"),
        ("@{ini}", r"'\[all\]' is not a host; give names .* ranges like n\[01-02\], or a file"),
        ("@{latin}", "is not UTF-8"),
        ("n[1-x]", r"'n\[1-x\]' is not a (range of hosts|host);"),
        ("n[1-999999999]", "is not a range of hosts"),
        ("n[1", "is not a host"),
        ("a,fd00::2", "'fd00::2' is an IPv6 address, .*give the host's name"),
        ("[fd00::2]", "is an IPv6 address"),
        ("fe80::1", "is an IPv6 address"),
        ("@/no/such", "--hosts @/no/such: cannot read /no/such: No such file"),
        ("@", "Is a directory"),
    ],
)
def test_hosts_that_are_none(tmp_path, text, said):
    (tmp_path / "ini").write_text("[all]\na ansible_host=10.0.0.1\n")
    (tmp_path / "latin").write_bytes("hôte\n".encode("latin-1"))
    text = text.replace("{", f"{tmp_path}/").replace("}", "")
    with pytest.raises(UsageError, match=said) as caught:
        hosts_in(text)
    assert caught.value.option == "--hosts"
