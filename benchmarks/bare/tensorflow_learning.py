"""The task's CNN in Keras, and a training loop as in TensorFlow's guide: a traced function."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf


class Loop:
    def __init__(self, lesson):
        config, rule = lesson.config, lesson.optimizer
        first, second, side = (int(config[name]) for name in ("first", "second", "image_size"))
        norm = {"epsilon": 1e-5, "momentum": 0.9}
        model = keras.Sequential([
            keras.Input((side, side, 1)),
            keras.layers.Conv2D(first, 3, padding="same", use_bias=False),
            keras.layers.BatchNormalization(**norm), keras.layers.ReLU(),
            keras.layers.MaxPool2D(2),
            keras.layers.Conv2D(second, 3, padding="same", use_bias=False),
            keras.layers.BatchNormalization(**norm), keras.layers.ReLU(),
            keras.layers.MaxPool2D(2), keras.layers.Flatten(), keras.layers.Dense(10),
        ])  # fmt: skip
        weights = model.trainable_variables
        optimizer = keras.optimizers.SGD(rule.learning_rate, momentum=rule.momentum)
        optimizer.build(weights)
        loss_of = keras.losses.CategoricalCrossentropy(from_logits=True)
        self.seen = []

        @tf.function
        def step(images, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(labels, model(images, training=True))
            gradients = tape.gradient(loss, weights)
            optimizer.apply([
                gradient + rule.weight_decay * weight if len(weight.shape) > 1 else gradient
                for gradient, weight in zip(gradients, weights, strict=True)
            ], weights)  # fmt: skip
            return loss

        self.function, self.optimizer = step, optimizer

    def prepared(self, batch):
        """Arrays as they are handed over: channels last, as TensorFlow has them."""
        images = np.ascontiguousarray(batch["images"].transpose(0, 2, 3, 1))
        return images, batch["labels"]

    def step(self, batch, rate):
        self.optimizer.learning_rate.assign(rate)
        self.seen.append(self.function(*map(tf.constant, batch)))

    def synchronize(self):
        if self.seen:
            self.seen[-1].numpy()

    def losses(self):
        return [float(loss) for loss in self.seen]


build = Loop
