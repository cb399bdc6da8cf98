"""What TensorFlow's documentation shows first, and what its guides to performance advise."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="Keras' own layers and optimizers",
        source='TensorFlow Tutorials, "Quickstart for beginners", and Keras, "Model.compile"',
        compilers=("graph",),
        on_cuda=("xla",),  # jit_compile="auto" means XLA, except on machines without GPUs
        executes={"graph": "in a graph as Model.fit makes it", "xla": "under XLA"},
        settings={"layers": "keras", "optimizer": "keras"},
    ),
    TUNED: Tier(
        says="fused kernels, oneDNN on the CPU",
        source='TensorFlow Guide, "Better performance with tf.function", and '
        'TensorFlow\'s release notes, "TF_ENABLE_ONEDNN_OPTS"',
        compilers=("graph",),
        executes={"graph": "the whole step as one tf.function"},
        variables={"TF_ENABLE_ONEDNN_OPTS": "1"},
    ),
}
