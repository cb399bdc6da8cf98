"""Made-up evidence from timed processes, and the doubts that it raises."""

from __future__ import annotations

from cases import GATES, make_case

from mbench.results import events
from mbench.results.records import CaseRecord, Process
from mbench.results.validity import doubts

LEVELS = [4.0 + 0.1 * batch for batch in range(8)]
SLOPE = -1e-5
SECOND = 10**9


def make_process(number=0, *, losses=(), changes=(), outputs=(), own=1.0, waited=None, lead=0,
                 looked=0.001, look_cpu=None, read_bytes=0, single=0.0, warmup=((1, 1.0),),
                 first_loss=None):  # fmt: skip
    warm = events.Process(
        case=0, process=number, pid=1, prepare_seconds=0.5, trainable_parameters=7, differences=[],
        batches=8, first_loss=first_loss, first_step_nanoseconds=SECOND,
        warmup_blocks=[(steps, round(seconds * SECOND)) for steps, seconds in warmup],
        warmup_reason="steady",
    )  # fmt: skip
    process = Process(warm, peak_bytes=1, idle_look=SECOND // 1000)
    of_block = {"case": 0, "process": number, "each": False}
    for at, (step, loss) in enumerate(losses):
        sketches = {"logits": outputs[at]} if outputs else {}
        block = events.Block(
            **of_block, round=at, steps=10, start=0, nanoseconds=[round(own * SECOND)]
        )
        seen = events.Evidence(
            **of_block, round=at, step=step, due=10.0 * step, batch=(step - 1) % 8, loss=loss,
            outputs=sketches, waited=round((waited or own) * SECOND), looked=round(looked * SECOND),
            look_cpu=None if look_cpu is None else round(look_cpu * SECOND), read_bytes=read_bytes,
            lead=lead,
        )  # fmt: skip
        process.blocks.append(block)
        if single:  # steps on their own take `single` times as long as in a block
            each = {**of_block, "each": True, "steps": 10, "start": 0}
            process.blocks.append(
                events.Block(**each, round=at, nanoseconds=[round(single * own * SECOND / 10)] * 10)
            )
        process.evidence.append((block, seen))
    process.changes = [
        events.Changes(
            case=0, process=number, step=step, due=10.0 * step,
            parameters={"weight": sketch}, statistics={},
        )
        for step, sketch in changes
    ]  # fmt: skip
    return process


def make_record(*processes, label="tiny", gates=GATES, **axes):
    planned = events.Case(
        case=0, comparison=0, label=label, framework=label, framework_title="Tiny", spec=label,
        axes=make_case(**axes), samples="samples", flops_per_sample=1e9, standard=True, gates=gates,
    )  # fmt: skip
    return CaseRecord(planned, processes={process.warm.process: process for process in processes})


def honest(step, *, bend=0.0):
    """The loss after a step: each batch has its level, and all drift by one slope."""
    return LEVELS[(step - 1) % 8] + SLOPE * 10 * step + bend * step**2


def said(*records):
    return list(doubts(*records if len(records) == 2 else records * 2))


def losses(steps, of=honest):
    return [(step, of(step)) for step in steps]
