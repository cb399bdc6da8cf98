"""The environments of a run's frameworks: each is found or built once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine.outcome import CaseEnded
from mbench.environments.locate import NO_PROVISION, find
from mbench.errors import EnvironmentUnavailable
from mbench.measure.activity import phases_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.environments.environment import Environment
    from mbench.measure.activity import Listener
    from mbench.spec.planning import Comparison, Entry

__all__ = ["EnvironmentPool"]

LEFT_ALONE = "there is no other framework left to compare it with"


class EnvironmentPool:
    """Finds or builds the environment of each framework once, and remembers failures."""

    def __init__(
        self,
        *,
        comparisons: Iterable[Comparison],
        accelerator: str,
        provision: bool,
        listener: Listener,
    ) -> None:
        """`comparisons` are all of the command's; their frameworks share one Python if possible."""
        self.comparisons = list(comparisons)
        self.accelerator = accelerator
        self.provision = provision
        self.listener = listener
        self._found: dict[str, Environment | EnvironmentUnavailable] = {}

    def environment_for(self, entry: Entry) -> Environment:
        """Raises CaseEnded if there is no environment and none can be built."""
        key = entry.spec.text
        if key not in self._found:
            try:
                self._found[key] = find(
                    entry.spec,
                    entry.adapter,
                    accelerator=self.accelerator,
                    provision=self.provision and self.is_needed(key),
                    report=phases_of(entry.label, self.listener),
                    beside=[(e.spec, e.adapter) for c in self.comparisons for e in c.entries],
                    why_not=LEFT_ALONE if self.provision else NO_PROVISION,
                )
            except EnvironmentUnavailable as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, EnvironmentUnavailable):
            raise CaseEnded(found.outcome, str(found))
        return found

    def is_needed(self, text: str) -> bool:
        """Whether a comparison needs this framework's environment. If no other framework has one,
        downloading it would be pointless.
        """
        for comparison in self.comparisons:
            texts = [entry.spec.text for entry in comparison.entries]
            lost = [isinstance(self._found.get(one), EnvironmentUnavailable) for one in texts]
            if text in texts and (len(texts) == 1 or lost.count(False) > 1):
                return True
        return False
