"""The second way to run a step; the first is the SDK's own."""

from concurrent.futures import ThreadPoolExecutor

from mbench.sdk.compiler import Compiler


class Queued(Compiler):
    """Steps wait in a queue for a thread, as those of a GPU wait for the device."""

    differences = ("steps are done by a thread of their own",)

    def __init__(self, device):
        super().__init__(device)
        self.thread = ThreadPoolExecutor(1)

    def compile(self, function):
        return lambda *arguments: self.thread.submit(function, *arguments)

    def synchronize(self):
        self.thread.submit(int).result()  # it runs after everything that was enqueued before

    def finished(self, enqueued):
        return enqueued.result()  # raises what the step raised
