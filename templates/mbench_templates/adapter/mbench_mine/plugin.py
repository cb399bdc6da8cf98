"""What mbench needs to know of Mine without importing it."""

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import AdapterBase, Lack


class Mine(AdapterBase):
    name = "mine"
    title = "Mine"
    imports = ("autograd",)
    runtime = "mbench_mine.runtime:Runtime"
    models = "mbench_mine.models"
    devices = ("cpu",)
    compilers = {"eager": "operations run one by one", "queued": "steps are done by a thread"}
    lacks = (
        Lack("Mine has no bfloat16", precisions=("bf16", "amp-bf16")),
        Lack("Mine has no mixed precision", precisions=("tf32", "amp-fp16")),
        Lack("Mine trains in fp32 and fp64", precisions=("fp16",), modes=("train",)),
    )

    def requirements(self, version, accelerator):
        return [f"autograd=={version or '1.8.0'}", "numpy==2.2.6"]


@hookimpl
def mbench_adapters():
    return [Mine()]
