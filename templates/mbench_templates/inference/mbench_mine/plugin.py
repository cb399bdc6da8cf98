"""What mbench needs to know of Mine without importing it."""

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import AdapterBase, Lack


class Mine(AdapterBase):
    name = "mine"
    title = "Mine"
    imports = ("numpy",)
    runtime = "mbench_mine.runtime:Runtime"
    models = "mbench_mine.models"
    devices = ("cpu",)
    compilers = {"eager": "operations run one by one", "queued": "steps are done by a thread"}
    lacks = (
        Lack("Mine infers only: train in another framework", modes=("train",)),
        Lack("Mine has no bfloat16", precisions=("bf16", "amp-bf16")),
        Lack("Mine has no mixed precision", precisions=("tf32", "amp-fp16")),
    )

    def requirements(self, version, accelerator):
        return [f"numpy=={version or '2.2.6'}"]


@hookimpl
def mbench_adapters():
    return [Mine()]
