"""ResNet-50 v1.5 training in MXNet on several devices, by hand: a Trainer over `dist_sync`."""

from __future__ import annotations

import os

import mxnet as mx
from mxnet import autograd, gluon

from mbench.workloads.resnet import RESNET50
from mbench_mxnet.models import resnet


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    net = resnet.build(RESNET50.config)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    os.environ["MXNET_OPTIMIZER_AGGREGATION_SIZE"] = "1"  # as on one device
    store = mx.kv.create("dist_sync")
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 1e-8, "momentum": 0.9, "wd": 1e-4},
        kvstore=store, update_on_kvstore=False,
    )  # fmt: skip
    images = mx.nd.random.normal(shape=(batch_size, 3, image_size, image_size))
    labels = mx.nd.random.randint(0, 1000, shape=(batch_size,)).astype("float32")

    def train(steps: int) -> None:
        for _ in range(steps):
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(batch_size * store.num_workers)
        mx.nd.waitall()

    return train
