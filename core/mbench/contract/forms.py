"""The names of a model's longer forms: "resnet50+layer3" has the stage layer3 twice as long, and
"resnet50+layer3.2of6" is longer by two of the six blocks that make it so.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LONGER", "OF", "PARTLY", "Form", "form_of", "longer_by"]

LONGER = "+"
"""Between a model's name and that of its longer stage."""
PARTLY = "."
"""Between a stage and how many of its blocks are added."""
OF = "of"
"""Between how many blocks are added, and how many would make the stage twice as long."""


@dataclass(frozen=True)
class Form:
    """Which stage is longer, by how many of as many blocks as make it twice as long."""

    stage: str
    added: int = 1
    blocks: int = 1

    @property
    def twice(self) -> bool:
        return self.added == self.blocks


def form_of(name: str) -> Form:
    """By what follows the model's name and LONGER: "layer3", "layer3.2of6"."""
    stage, _, part = name.partition(PARTLY)
    added, of, blocks = part.partition(OF)
    return Form(stage, int(added), int(blocks)) if of else Form(stage)


def longer_by(name: str) -> str:
    """For people: "layer3 twice", "layer3 longer by 2 of 6 blocks"."""
    form = form_of(name)
    if form.twice:
        return f"{form.stage} twice"
    return f"{form.stage} longer by {form.added} of {form.blocks} blocks"
