"""One rank of a hand-written loop, started by the framework's own launcher; trains on request.

Usage: python ranks.py FOLDER PORT BATCH IMAGE THREADS

The benchmark listens on PORT of this machine. It sends a number of steps in a line, and receives
the seconds that they took, after one untimed step.
"""

from __future__ import annotations

import importlib
import socket
import sys
import time


def main(folder: str, *numbers: str) -> None:
    port, batch_size, image_size, threads = map(int, numbers)
    by_hand = importlib.import_module(f"bare.{folder}_ranks")
    train = by_hand.build(batch_size=batch_size, image_size=image_size, threads=threads)
    connection = socket.create_connection(("127.0.0.1", port))
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            train(1)
            begin = time.perf_counter()
            train(int(line))
            print(time.perf_counter() - begin, file=lines, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
