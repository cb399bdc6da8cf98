"""Input pipelines through mbench against a bare loop over the same files, of the same framework.

Usage: python benchmarks/input.py PHOTOS [--frameworks torch,tf] [--processes 6] [--rounds 12]
           [--resident]

PHOTOS is a folder of classes, such as `mbench data make` makes. Both read the same images in the
same order, decode them, crop the centre, resize and normalise it. No model takes the batches.
Blocks of both alternate in random order in one process, and each process is a replicate. Like
mbench's, blocks of the bare loop begin after the prefetched batches, and end with as many
prefetched. A ratio of 0.98 or more means that mbench costs a pipeline 2 % or less.

With --resident, both are mbench's steps of ResNet-18 on batches that stay on the device: in a case
without an input pipeline, and in a case that has one ("step alone"). A ratio of 0.998 to 1.002
means that pipelines cost nothing where they are not used.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys

from overhead import FOLDERS, ROOT, Process, intervals, said

from mbench.engine.isolation import thread_variables
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse


def main() -> None:
    parser = argparse.ArgumentParser(description="pipelines through mbench against bare loops")
    parser.add_argument("photos", help="a folder of classes")
    parser.add_argument("--frameworks", default="torch,tf")
    parser.add_argument("--processes", type=int, default=6, help="of each framework")
    parser.add_argument("--rounds", type=int, default=12, help="of each process")
    parser.add_argument("--batches", type=int, default=8, help="per block")
    parser.add_argument("--resident", action="store_true", help="steps on resident batches")
    parser.add_argument("--threads", type=int, default=default_threads().count)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--image-size", type=int, default=224)
    arguments = parser.parse_args()
    children = {text: child(text, arguments) for text in arguments.frameworks.split(",")}
    found: dict[str, list[Process]] = {text: [] for text in children}
    alone = "without a pipeline" if arguments.resident else "by hand"
    compared = "with / without a pipeline" if arguments.resident else "mbench / bare"
    images = arguments.batches * arguments.batch_size
    for number in range(arguments.processes):
        for text, (command, variables) in children.items():
            answer = subprocess.run(
                [*command, str(random.getrandbits(32))], env=variables, check=True,
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            one = Process.of([json.loads(answer.stdout.splitlines()[-1])])
            found[text].append(one)
            rate = images / one.bare_block_seconds
            print(f"{text} process {number + 1}: {one.total:.4f}, {rate:.0f} images/s {alone}",
                  flush=True)  # fmt: skip
    for text, processes in found.items():
        total, middle = intervals(processes)
        print(f"{text}: {compared} images per second {said(total)}, median rounds {said(middle)}")


def child(text: str, arguments: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """The command that times a framework's two loops, without its seed, and its variables."""
    spec = parse(text)
    adapter = Plugins().adapter(spec.name)
    environment = find(spec, adapter, accelerator="cpu", provision=True,
                       report=lambda line: print(line, file=sys.stderr))  # fmt: skip
    paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / FOLDERS[spec.name]]
    variables = {
        **os.environ,
        **thread_variables(arguments.threads),
        **adapter.variables(threads=arguments.threads, device="cpu"),
        **environment.variables(),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [
        str(environment.python), "-m", "bare.files", FOLDERS[spec.name], adapter.runtime,
        arguments.photos,
        *map(str, (arguments.batch_size, arguments.image_size, arguments.threads,
                   arguments.rounds, arguments.batches)),
        "resident" if arguments.resident else "files",
    ]  # fmt: skip
    return command, variables


if __name__ == "__main__":
    main()
