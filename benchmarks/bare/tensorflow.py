"""ResNet-50 v1.5 training in TensorFlow, by hand: the same Keras model, a loop of its own."""

from __future__ import annotations

import keras
import tensorflow as tf

from mbench.workloads.resnet import RESNET50
from mbench_tensorflow.models import resnet

COMPILER = "graph"


def draw(weights: list[keras.Variable]) -> None:
    """Draw kernels: the adapter's are zeros until values are loaded, which is about 3 % faster."""
    for weight in weights:
        if len(weight.shape) > 1:
            weight.assign(keras.initializers.HeNormal()(weight.shape))


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done.

    keras.applications has no v1.5, so the model is the adapter's; the training step is not.
    """
    model = resnet.build(RESNET50.config)
    images = tf.random.normal((batch_size, image_size, image_size, 3))
    labels = tf.random.uniform((batch_size,), 0, 1000, tf.int64)
    resnet.forward(model, {"images": images}, training=True)
    weights = model.trainable_variables
    draw(weights)
    momenta = [tf.Variable(tf.zeros_like(w)) for w in weights]
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = resnet.forward(model, {"images": images}, training=True)["logits"]
            loss = loss_of(labels, logits)
        gradients = tape.gradient(loss, weights)
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

    return train
