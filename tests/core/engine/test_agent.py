"""Agents that run on this machine: their workers behave like those that mbench starts itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import hosts
import psutil
import pytest
from alive import gone
from workers import INFERENCE, NOTICE, PATIENCE, ended, eventually, framework, is_stopped

from mbench.contract import wire
from mbench.engine import agents, handshake, node
from mbench.engine import cluster as cluster_module
from mbench.engine.agent_protocol import Answer, Challenge, Welcome
from mbench.engine.outcome import CaseEnded
from mbench.engine.transport import Connection
from mbench.errors import MbenchError


@pytest.fixture
def start(start_ranks):
    return start_ranks


def test_workers_answer_stop_wake_and_leave(start):
    made, worker = start(2, 2)
    assert len(worker.run(4).ranks) == 4
    assert all(process.host for process in worker.processes)
    pids = [process.pid for process in worker.processes]
    worker.stop()
    eventually(lambda: all(map(is_stopped, pids)), "stopped")
    worker.resume()
    assert worker.run(2).nanoseconds
    worker.close()
    eventually(lambda: gone(*pids), "gone")
    keeping = [one.here.pid for one in made.agents.nodes()]
    again = made(hosts.program(worker.log), hosts.places(2, 1))
    assert [one.here.pid for one in made.agents.nodes()] == keeping
    again.kill()
    made.close()
    eventually(lambda: gone(*keeping), "gone")


def test_one_alone_and_each_has_an_address_that_others_reach(start):
    _, worker = start(1, 1)
    assert worker.address == ""
    worker.close()
    _, several = start(1, 2)
    for one in several.workers:
        address, port = handshake.split(one.address)[0]
        assert address in handshake.addresses()
        assert port > 0


def test_what_it_printed_comes_when_it_ends(start):
    _, worker = start(1, 1, runtime="rogues:Noisy")
    worker.close()
    said = worker.log.read_text()
    assert "W0000 cannot find something" in said
    assert said.startswith(f"[mbench: the end of its log on {socket.gethostname()}]")


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("kill@2", "crashed", " of 2 on HOST: the worker was killed by SIGKILL"),
        ("exit@2", "crashed", "exited with code 3; its last words: going down"),
        ("raise@2", "failed", "RuntimeError: the tiny framework has lost its mind"),
    ],
)
def test_ranks_that_fall_short_end_the_case_by_name(start, fault, outcome, reason):
    _, worker = start(2, 1, FLAKY=fault)
    hosts_of = [process.host for process in worker.processes]
    if outcome == "failed":
        with pytest.raises(CaseEnded) as caught:
            worker.run(3)
        end = caught.value
    else:
        end = ended(worker, lambda: worker.run(3))
    assert end.outcome == outcome
    assert any(reason.replace("HOST", host) in end.reason for host in hosts_of)


def test_one_rank_killed_from_outside(start):
    _, worker = start(2, 1)
    os.kill(worker.processes[1].pid, signal.SIGKILL)
    end = ended(worker, lambda: worker.run(10**7))
    assert end.outcome == "crashed"
    assert f"rank 1 of 2 on {worker.processes[1].host}: the worker was killed" in end.reason


def test_a_rank_that_hangs(start):
    _, worker = start(2, 1, FLAKY="hang@2")
    end = ended(worker, lambda: worker.run(3, timeout=0.5))
    assert (end.outcome, end.reason) == (
        "timeout", "no answer from any rank within 0.5 s",
    )  # fmt: skip


def test_an_agent_that_is_killed_takes_its_workers_with_it(start):
    made, worker = start(2, 1)
    worker.stop()  # a stop and a resume before the kill make no difference
    worker.resume()
    os.kill(made.agents.nodes()[1].here.pid, signal.SIGKILL)
    end = ended(worker, lambda: worker.run(10**7))
    assert end.outcome == "crashed"
    assert f"rank 1 of 2 on {worker.processes[1].host}: " in end.reason
    assert "its agent is gone" in end.reason
    again = made(hosts.program(worker.log), hosts.places(2, 1))  # new agents are started
    again.kill()


def test_an_agent_that_is_silent(start, monkeypatch):
    monkeypatch.setattr(node, "STOPPED_SECONDS", 2.0)
    made, worker = start(2, 1)
    pid = made.agents.nodes()[0].here.pid
    os.kill(pid, signal.SIGSTOP)
    said = r"rank 0 of 2 on .*: no heartbeat from its agent for 2 s, although its machine answers"
    try:
        with pytest.raises(CaseEnded, match=said):
            worker.run(10**7)
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: gone(*(p.pid for p in worker.processes)), "gone")


def test_an_agent_that_was_stopped_goes_on_and_says_so(start, monkeypatch):
    """Its container may pause for longer than silent machines and answers are waited for."""
    monkeypatch.setattr(node, "SILENT_SECONDS", 1.0)
    _, worker = start(1, 2)
    ((there, _),) = worker.nodes.items()
    worker.stop()
    worker._timeout = 1.0
    os.kill(there.here.pid, signal.SIGSTOP)
    again = threading.Timer(4.0, os.kill, (there.here.pid, signal.SIGCONT))
    again.start()
    worker.resume()  # waits for the agent
    worker.run(1)
    again.join()
    assert not there.trouble
    eventually(lambda: there.look(now=True) or there.absences, "reported")
    (absence,) = there.take_absences()
    assert absence.what == "mbench"
    assert absence.host == there.host
    assert absence.seconds > 2.5
    assert not there.take_absences()


def test_an_engine_that_is_killed(start):
    made, worker = start(2, 1)
    worker.stop()
    made.agents._job.process.kill()
    worker.resume()
    end = ended(worker, lambda: worker.run(10**7))
    assert end.outcome == "crashed"
    assert "spread was killed by SIGKILL" in end.reason


ORPHAN = """
import os, sys, time
from pathlib import Path
sys.path[:0] = sys.argv[1].split(os.pathsep)
import hosts
from mbench.engine.cluster import Cluster
cluster = Cluster(hosts.Here(), 2)
worker = cluster(hosts.program(Path(sys.argv[2])), hosts.places(2, 1))
worker.stop()
agents = [node.here.pid for node in cluster.agents.nodes()]
print(*agents, *(p.pid for p in worker.processes), flush=True)
time.sleep(3600)
"""


def test_nothing_outlives_a_killed_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", hosts.importable())
    words = [sys.executable, "-c", ORPHAN, hosts.importable(), str(tmp_path / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 4
        parent.kill()
    begin = time.monotonic()
    eventually(lambda: gone(*pids), "gone")
    assert time.monotonic() - begin < NOTICE


def test_who_never_dials_in(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(agents, "DIAL_IN_SECONDS", 1.0)
    one = cluster(2, script="import time; time.sleep(3600)")
    with pytest.raises(MbenchError, match="0 of 2 agents connected within 1 s"):
        one(hosts.program(tmp_path / "log"), hosts.places(2, 1))


def test_a_node_may_take_its_time_to_describe_itself(cluster, tmp_path, monkeypatch):
    """It may be busy, or its GPUs may sleep; other nodes can connect meanwhile."""
    monkeypatch.setattr(agents.handshake, "HANDSHAKE_SECONDS", 0.2)
    monkeypatch.setattr(agents, "AT_ONCE", 1)
    slow = (
        "import sys, time; from mbench.engine import agent; honest = agent.describe_machine; "
        "agent.handshake.answered.__kwdefaults__['seconds'] = 1.5; "
        "agent.describe_machine = lambda: time.sleep(3) or honest(); sys.exit(agent.main())"
    )
    script = hosts.SPREAD.replace("sys.argv[2:]", f"[sys.executable, '-c', {slow!r}]")
    worker = cluster(2, script=script)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    worker.close()


def test_a_worker_that_never_dials_in(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    lost = []
    monkeypatch.setattr(agents.Agents, "_worker", lambda self, key, line: lost.append(line))
    with pytest.raises(CaseEnded, match=r"rank 0 of 2 on .*did not connect within 1 s") as caught:
        cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    assert caught.value.outcome == "timeout"
    for line in lost:
        line.close()


def test_an_engine_that_ends_at_once_says_why(cluster, tmp_path):
    one = cluster(2, script="import sys; sys.exit('-----\\nno such host: b\\n-----')")
    with pytest.raises(MbenchError) as caught:
        one(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    assert "0 of 2 agents connected" in str(caught.value)
    assert "exited with code 1, saying: no such host: b" in str(caught.value)


def test_another_mbench_is_refused_by_name(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(agents, "mbench", type("Ours", (), {"__version__": "9.9"}))
    with pytest.raises(MbenchError) as caught:
        cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    assert socket.gethostname() in str(caught.value)
    assert "but this machine has 9.9 (" in str(caught.value)
    assert "install the same version" in str(caught.value)


def test_another_adapter_is_refused_by_name(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module.handshake, "digest", lambda files: "0" * 16)
    one = cluster(1)
    with pytest.raises(CaseEnded, match=r"mbench_tiny.py differs from the parent's mbench_tiny"):
        one(hosts.program(tmp_path / "log"), hosts.places(1, 1))


def test_another_token_is_refused(cluster, tmp_path):
    lying = hosts.SPREAD.replace('"MBENCH_NODE"', '"MBENCH_TOKEN": "00" * 32, "MBENCH_NODE"')
    with pytest.raises(MbenchError) as caught:
        cluster(2, script=lying)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    assert "it does not know this command's token" in str(caught.value)
    assert f"mbench's agent on {socket.gethostname()}: " in str(caught.value)
    assert "it has a different token" in str(caught.value)


def test_strangers_do_no_harm_and_learn_nothing(start):
    made, worker = start(2, 1)
    place = made.agents._listeners[0].getsockname()
    silent = socket.create_connection(place)
    rude = socket.create_connection(place)
    rude.sendall(b"GET / HTTP/1.1\r\n\r\n")
    liar = Connection(socket.create_connection(place))
    asked = liar.receive(Challenge, seconds=PATIENCE)
    liar.send(Answer(nonce=asked.nonce, key=0, proof=asked.nonce))
    with pytest.raises(EOFError, match="the other end closed the connection"):
        liar.receive(Challenge, seconds=PATIENCE)
    waiting = Connection(silent)
    waiting.receive(Challenge, seconds=PATIENCE)
    with pytest.raises(TimeoutError, match=r"nothing arrived within 0\.1 s"):
        waiting.receive(Welcome, seconds=0.1)
    assert worker.run(3).nanoseconds
    for one in (silent, rude, liar):
        one.close()


def test_an_agent_does_not_trust_whoever_listens():
    token = "ab" * 32
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        parent = Connection(listener.accept()[0])
        parent.send(Challenge(nonce="00"))
        parent.send(handshake.Welcome(proof="00"))
        with pytest.raises(handshake.NotOurs, match="does not know the token"):
            handshake.answered(Connection(ours), token, key=0)
        parent.close()
        ours.close()


def test_the_token_is_in_no_command_line_and_no_workers_environment(start):
    made, worker = start(1, 1)
    token = made.agents._token
    assert len(bytes.fromhex(token)) == 32
    (one,) = made.agents.nodes()
    for process in psutil.Process().children(recursive=True):
        assert token not in " ".join(process.cmdline())
    pid = worker.processes[0].pid
    assert token not in psutil.Process(pid).environ().values()
    assert token in psutil.Process(one.here.pid).environ().values()


def test_many_ranks_are_asked_at_little_cost(cluster, tmp_path):
    worker = cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 8))
    worker.start(framework("mbench_tiny:Runtime"))
    worker.prepare(INFERENCE)
    begin = time.perf_counter()
    for _ in range(5):
        worker.ask_all(wire.Memory(), wire.MemoryUsed)
    assert (time.perf_counter() - begin) / 5 / 16 < 0.02
    worker.kill()


def test_agents_get_in_past_strangers_who_fill_the_port(cluster, tmp_path, monkeypatch):
    """Strangers hold hundreds of silent connections, and replace those that are closed."""
    listening, crowd, over = agents.listening, [], threading.Event()

    def besiege(place):
        while not over.wait(0.001):
            with suppress(OSError):
                crowd.append(socket.create_connection(place, timeout=1))
            if len(crowd) > 400:
                crowd.pop(0).close()

    def besieged(address):
        listener = listening(address)
        place = listener.getsockname()[:2]
        threading.Thread(target=besiege, args=(place,), daemon=True).start()
        return listener

    monkeypatch.setattr(agents, "listening", besieged)
    late = "import time; time.sleep(2)\n" + hosts.SPREAD
    try:
        worker = cluster(2, script=late)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
        worker.close()
    finally:
        over.set()
        assert len(crowd) > agents.AT_ONCE
        while crowd:
            crowd.pop().close()


def test_no_address_takes_all_places():
    made = agents.Agents(hosts.Here(), 1)
    pairs = [socket.socketpair() for _ in range(agents.AT_ONCE + 8)]
    for at, (one, _) in enumerate(pairs):
        made._make_room(one, "a" if at % 2 else f"b{at}")
    addresses = list(made._strangers.values())
    assert addresses.count("a") == agents.OF_ONE_ADDRESS
    assert len(addresses) <= agents.AT_ONCE
    assert pairs[-1][0] in made._strangers
    assert pairs[0][0] not in made._strangers or pairs[1][0] not in made._strangers
    for pair in pairs:
        for end in pair:
            end.close()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MBENCH_PARENT", "127.0.0.1:x", "MBENCH_PARENT='127.0.0.1:x' is not a list of address"),
        ("MBENCH_PARENT", "127.0.0.1", "is not a list of address:port"),
        ("MBENCH_PARENT", "", "is not a list of address:port"),
        ("MBENCH_PARENT", "127.0.0.1:99999", "is not a list of address:port"),
        ("MBENCH_TOKEN", "zz", "MBENCH_TOKEN is not a hexadecimal number"),
        ("MBENCH_TOKEN", "", "MBENCH_TOKEN is not a hexadecimal number"),
    ],
)
def test_variables_that_arrive_changed_are_named_in_one_line(variable, value, said):
    around = {**os.environ, "PYTHONPATH": hosts.importable(), "MBENCH_PARENT": "127.0.0.1:1",
              "MBENCH_TOKEN": "ab", variable: value}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "mbench.engine.agent"], env=around, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_one_machine_by_two_names_is_said(start, capsys):
    start(2, 1)[1].close()
    assert "are one machine, which is measured as 2 nodes" in capsys.readouterr().err
