"""The second way to run a step; the first is the SDK's own."""

from concurrent.futures import ThreadPoolExecutor

from mbench.sdk.compiler import Compiler


class Queued(Compiler):
    """Steps wait in a queue for a thread, as those of a GPU wait for the device."""

    differences = ("steps are done by a thread of their own",)

    def __init__(self, device):
        super().__init__(device)
        self.thread = ThreadPoolExecutor(1)
        self.enqueued = []

    def compile(self, function):
        def enqueue(*arguments):
            self.enqueued.append(self.thread.submit(function, *arguments))

        return enqueue

    def synchronize(self):
        while self.enqueued:
            self.enqueued.pop(0).result()  # raises what the step raised
