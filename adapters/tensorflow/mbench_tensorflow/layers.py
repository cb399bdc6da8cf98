"""Layers that Keras 3 has only in a slower or a different form."""

from __future__ import annotations

import keras
import tensorflow as tf

__all__ = ["BatchNormalization"]


class BatchNormalization(keras.layers.BatchNormalization):
    """Over all but the last axis, by TensorFlow's fused kernel.

    Keras 3 composes batch norm of elementwise operations, which is slower in graphs. The fused
    kernel, like PyTorch, feeds the unbiased variance to the running one; it has no float64, for
    which the same is composed here.
    """

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        dtype = tf.float64 if x.dtype == tf.float64 else tf.float32
        gamma, beta, mean, variance = (
            tf.cast(variable.value, dtype)
            for variable in (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        )
        normalize = self._composed if dtype == tf.float64 else self._fused
        y, mean, variance = normalize(x, gamma, beta, mean, variance, training)
        if training:
            self.moving_mean.assign(mean)
            self.moving_variance.assign(variance)
        return y

    def _fused(
        self,
        x: tf.Tensor,
        gamma: tf.Tensor,
        beta: tf.Tensor,
        mean: tf.Tensor,
        variance: tf.Tensor,
        training: bool,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        y, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=gamma,
            offset=beta,
            mean=mean,
            variance=variance,
            epsilon=self.epsilon,
            exponential_avg_factor=1 - self.momentum,
            is_training=training,
        )
        return y, mean, variance

    def _composed(
        self,
        x: tf.Tensor,
        gamma: tf.Tensor,
        beta: tf.Tensor,
        mean: tf.Tensor,
        variance: tf.Tensor,
        training: bool,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        if not training:
            y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)
            return y, mean, variance
        batch_mean, batch_variance = tf.nn.moments(x, axes=list(range(x.shape.rank - 1)))
        y = tf.nn.batch_normalization(x, batch_mean, batch_variance, beta, gamma, self.epsilon)
        count = x.shape.num_elements() // x.shape[-1]
        unbiased = batch_variance * (count / (count - 1))
        keep = self.momentum
        return y, keep * mean + (1 - keep) * batch_mean, keep * variance + (1 - keep) * unbiased
