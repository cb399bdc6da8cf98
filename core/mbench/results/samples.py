"""Every measured interval of one run or of many, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import AXES
from mbench.errors import MbenchError, lacking
from mbench.results.database import open_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    import pandas as pd

__all__ = ["EXPORTS", "export", "frame", "pandas"]

# Sizes and variables, as they are typed on the command line.
TABLE = """nullif(array_to_string(
    list_transform(map_entries(axes.{}), lambda e: e.key || '=' || e.value), ','), '')"""
# What a case says about all its samples, by column.
OF_CASE = {
    "run": "run", "started": "started", "host": "host", "cpu": "cpu",
    "mbench": "mbench", "protocol": "protocol", "comparison": "comparison", "case": '"case"',
    "label": "label", "framework": "framework", "version": "version",
    **{axis.name: f"axes.{axis.name}" if axis.kind in (str, int, bool) else TABLE.format(axis.name)
       for axis in AXES},
    "devices": "devices", "samples_per_item": "samples_per_item",
    "outcome": "coalesce(outcome, 'ok')",
}  # fmt: skip
CASES = ", ".join(f'{value} AS "{name}"' for name, value in OF_CASE.items())

SAMPLES = """
SELECT row, process, round, "each", step, CASE WHEN "each" THEN 1 ELSE steps END AS steps,
    value / 1e9 AS seconds
FROM (
    SELECT c.row, b.process, b.round, b."each", b.steps,
        unnest(b.nanoseconds) AS value, unnest(range(len(b.nanoseconds))) AS step
    FROM blocks b JOIN cases c USING (filename, "case")
)
WHERE value >= 1
ORDER BY row, process, round, "each", step
"""
TIDY = f"""
SELECT c.* EXCLUDE (row) REPLACE (try_cast(c.started AS TIMESTAMPTZ) AS started),
    s.process, s.round, if(s."each", 'step', 'block') AS kind, s.step,
    s.steps, s.seconds,
    s.steps * c.batch_size * c.samples_per_item * c.devices / s.seconds AS samples_per_second
FROM ({SAMPLES}) s JOIN (SELECT row, {CASES} FROM cases) c USING (row)
ORDER BY row, process, round, kind, step
"""
EXPORTS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv, HEADER",
    "jsonl": "FORMAT json",
}


def export(files: Sequence[Path], output: Path, *, format_: str) -> int:
    """Write all samples to `output` and return their number. Raises MbenchError if it cannot."""
    target = str(output).replace("'", "''")  # COPY takes no parameter for its file
    with open_runs(files, output=output) as database:
        import duckdb

        try:
            found = database.execute(f"COPY ({TIDY}) TO '{target}' ({EXPORTS[format_]})").fetchone()
        except duckdb.Error as error:
            raise MbenchError(f"cannot write {output}: {str(error).splitlines()[0]}") from None
    return int(found[0]) if found else 0


def frame(files: Sequence[Path]) -> pd.DataFrame:
    """All samples; text columns are categorical. Raises MbenchError without pandas and DuckDB."""
    pd = pandas()
    with open_runs(files) as database:
        found = database.execute(f"SELECT {CASES} FROM cases ORDER BY row")
        names = [column[0] for column in found.description or ()]
        cases = pd.DataFrame.from_records(found.fetchall(), columns=names)
        samples = pd.DataFrame(database.execute(SAMPLES).fetchnumpy())
    row = samples.pop("row").to_numpy()
    columns: dict[str, object] = {}
    for name in names:
        if name == "started":
            columns[name] = pd.to_datetime(cases[name], utc=True, errors="coerce").array.take(row)
        elif pd.api.types.is_numeric_dtype(cases[name]):
            columns[name] = cases[name].to_numpy()[row]
        else:
            codes, categories = pd.factorize(cases[name])
            columns[name] = pd.Categorical.from_codes(codes[row], categories)
    each = samples.pop("each").astype("int8")
    samples.insert(2, "kind", pd.Categorical.from_codes(each, ["block", "step"]))
    made = pd.concat([pd.DataFrame(columns), samples], axis="columns")
    samples = made["steps"] * made["batch_size"] * made["samples_per_item"] * made["devices"]
    return made.assign(samples_per_second=samples / made["seconds"])


def pandas() -> ModuleType:
    """The library; raises MbenchError if it is not installed."""
    try:
        import pandas as found
    except ImportError:
        raise lacking("pandas", extra="analysis") from None
    module: ModuleType = found
    return module
