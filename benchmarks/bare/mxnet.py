"""ResNet-50 v1.5 training in MXNet, by hand: the same Gluon model, a loop of its own."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import mxnet as mx
from mxnet import autograd, gluon, nd

from mbench.workloads.resnet import RESNET50
from mbench_mxnet.models import resnet

COMPILER = "hybrid"


class WithLoss(gluon.HybridBlock):
    """Network and loss as one graph, as GluonNLP's scripts have them."""

    def __init__(self, net: gluon.HybridBlock) -> None:
        super().__init__()
        self.net = net
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F, images, labels):
        return self.loss(self.net(images), labels).mean()


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done.

    Gluon's zoo has no v1.5, so the model is the adapter's; the training step is not. Parameters are
    updated by the kernel of Gluon's Trainer, without what Trainer does around it in Python.
    """
    net = resnet.build(RESNET50.config)
    net.initialize(mx.init.Xavier())
    with_loss = WithLoss(net)
    with_loss.hybridize(static_alloc=True, static_shape=True)
    images = nd.random.normal(shape=(batch_size, 3, image_size, image_size))
    labels = nd.random.randint(0, 1000, shape=(batch_size,)).astype("float32")
    with_loss(images, labels)  # shapes are known from here on
    trained = [one for one in net.collect_params().values() if one.grad_req != "null"]
    slots = [(one.data(), one.grad(), nd.zeros_like(one.data())) for one in trained]

    def train(steps: int) -> None:
        for _ in range(steps):
            with autograd.record():
                loss = with_loss(images, labels)
            loss.backward()
            for weight, gradient, moment in slots:
                nd.sgd_mom_update(
                    weight, gradient, moment, lr=1e-8, momentum=0.9, wd=1e-4, out=weight
                )
        mx.nd.waitall()

    return train
