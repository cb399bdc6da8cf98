"""The names of a model's longer forms: in "resnet50+layer3" the stage layer3 is twice as long, and
in "resnet50+layer3.2of6" it is longer by two of the six blocks that would double it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LONGER", "OF", "PARTLY", "Form", "form_of", "longer_by"]

LONGER = "+"
"""Separates a model's name from that of its longer stage."""
PARTLY = "."
"""Separates a stage from the number of its blocks that are added."""
OF = "of"
"""Separates the number of added blocks from the number that would double the stage."""


@dataclass(frozen=True)
class Form:
    """Which stage is longer, by how many blocks, out of how many that would double it."""

    stage: str
    added: int = 1
    blocks: int = 1

    @property
    def twice(self) -> bool:
        return self.added == self.blocks


def form_of(name: str) -> Form:
    """The form, from what follows the model's name and LONGER: "layer3", "layer3.2of6"."""
    stage, _, part = name.partition(PARTLY)
    added, of, blocks = part.partition(OF)
    return Form(stage, int(added), int(blocks)) if of else Form(stage)


def longer_by(name: str) -> str:
    """The form in words: "layer3 twice", "layer3 longer by 2 of 6 blocks"."""
    form = form_of(name)
    if form.twice:
        return f"{form.stage} twice"
    return f"{form.stage} longer by {form.added} of {form.blocks} blocks"
