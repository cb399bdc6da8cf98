"""The two update rules, after clipping."""

import numpy as np

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule


class Update(UpdateBase):
    def build(self):
        self.rule = find_rule(self.workload, {"sgd": self.sgd, "adamw": self.adamw})
        self.decays = decays(self.workload, self.parameters)

    def reset(self):
        self.steps = 0
        zeros = np.zeros_like
        self.moments = {name: (zeros(at), zeros(at)) for name, at in self.parameters.items()}

    def __call__(self, gradients):
        self.steps += 1
        factor = 1.0
        if self.spec.clip_norm is not None:
            norm = sum(float(np.vdot(gradient, gradient)) for gradient in gradients.values()) ** 0.5
            factor = min(1.0, clip_factor(self.spec.clip_norm, norm))
        for name, value in self.parameters.items():
            gradient = gradients[name] * factor
            value -= self.spec.learning_rate * self.rule(
                value, gradient, *self.moments[name], self.decays[name]
            )

    def sgd(self, value, gradient, velocity, _, decay):
        velocity *= self.spec.momentum
        velocity += gradient + decay * value
        return velocity

    def adamw(self, value, gradient, first, second, decay):
        one, two = self.spec.betas
        first += (1 - one) * (gradient - first)
        second += (1 - two) * (gradient**2 - second)
        spread = np.sqrt(second / (1 - two**self.steps)) + self.spec.epsilon
        return decay * value + first / (1 - one**self.steps) / spread
