"""ResNet-50 v1.5 training in TensorFlow on several devices, by hand.

See its tutorial "Custom training loop with Keras and MultiWorkerMirroredStrategy"; TF_CONFIG tells
each rank its place.
"""

from __future__ import annotations

import json
import os

import keras
import tensorflow as tf

from bare.tensorflow import draw
from mbench.workloads.resnet import RESNET50
from mbench_tensorflow.models import resnet
from mbench_tensorflow.parallel import be_patient


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    be_patient(len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]))
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING
        )
    )
    model = resnet.build(RESNET50.config)
    images = tf.random.normal((batch_size, image_size, image_size, 3))
    labels = tf.random.uniform((batch_size,), 0, 1000, tf.int64)
    resnet.forward(model, {"images": images}, training=True)
    weights = model.trainable_variables
    draw(weights)
    momenta = [tf.Variable(tf.zeros_like(w)) for w in weights]
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def replica():
        with tf.GradientTape() as tape:
            logits = resnet.forward(model, {"images": images}, training=True)["logits"]
            loss = loss_of(labels, logits)
        gradients = tape.gradient(loss, weights)
        among = tf.distribute.get_replica_context()
        return loss, among.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)

    @tf.function
    def step():
        loss, gradients = strategy.run(replica)
        for weight, momentum, gradient in zip(weights, momenta, gradients, strict=True):
            tf.raw_ops.ResourceApplyKerasMomentum(
                var=weight.value.handle, accum=momentum.handle, lr=1e-8,
                grad=gradient + 1e-4 * weight, momentum=0.9,
            )  # fmt: skip
        return loss

    def train(steps: int) -> None:
        for _ in range(steps):
            loss = step()
        loss.numpy()

    train.keep = strategy
    return train
