"""Many runs at once: their files as tables of an embedded database."""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

from mbench.contract.axes import AXES, Axes, Sizes, Variables
from mbench.errors import MbenchError, UsageError, lacking
from mbench.machine.records import System
from mbench.results import events
from mbench.results.folder import EVENTS_FILE, SCHEMA
from mbench.results.readable import readable
from mbench.results.run import check_schema, find_runs
from mbench.results.runfile import lines_of
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

__all__ = ["files_of", "open_runs"]

TYPES: dict[object, object] = {
    str: "VARCHAR", int: "BIGINT", bool: "BOOLEAN", float | None: "DOUBLE", list[int]: ["BIGINT"],
    Sizes: "MAP(VARCHAR, BIGINT)", Variables: "MAP(VARCHAR, VARCHAR)",
}  # fmt: skip


def columns(record: type, *names: str) -> dict[str, object]:
    """The types in SQL of some fields of a record."""
    hints = get_type_hints(record)
    return {name: TYPES[hints[name]] for name in names}


# The fields that the tables are built from. A value that does not fit its type counts as absent.
FEW = {
    "event": "VARCHAR",
    **columns(events.Run, "schema", "id", "mbench", "started"),
    "system": columns(System, "hostname", "cpu"),
    "experiment": {"protocol": columns(Adaptive, "name", "claims_interval", "half_width_goal")},
    "protocol": columns(Adaptive, "half_width_goal", "looked"),  # of a run that was continued
    **columns(events.Case, "case", "comparison", "label", "framework", "samples",
              "samples_per_item"),
    **columns(events.Framework, "version"),
    **columns(events.Environment, "installed"),
    **columns(events.Outcome, "outcome"),
    "axes": columns(Axes, *(axis.name for axis in AXES)),
}  # fmt: skip
MANY = {
    "event": "VARCHAR",
    **columns(events.Block, "case", "process", "round", "steps", "each", "nanoseconds"),
}

# Nearly all lines are blocks. They are parsed only if their values are asked for. The way that our
# writer begins them identifies them faster than parsing does; if they begin otherwise, only time is
# lost.
EVENTS = f"""
CREATE TEMP TABLE events AS
SELECT filename, unnest(from_json(json, '{json.dumps(FEW)}')) FROM lines
WHERE json NOT LIKE '{{"event":"block"%'
"""
BLOCKS = f"""
CREATE TEMP VIEW blocks AS
SELECT filename, b."case", b.process, b.round, b.steps, b."each", b.nanoseconds
FROM (SELECT filename, from_json(json, '{json.dumps(MANY)}') AS b FROM lines)
WHERE b.event = 'block' AND b.steps >= 1
"""
# Nothing is fetched, nothing is printed, and times are as they were written. Only the named files
# are read or written, whatever is in them.
SETTINGS = """
SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
SET TimeZone = 'UTC';
SET allowed_paths = getvariable('allowed'); SET enable_external_access = false
"""
LARGEST_LINE = 2**26

CASES = """
CREATE TEMP TABLE cases AS
SELECT row_number() OVER (
        ORDER BY list_position(getvariable('files'), c.filename), c."case") - 1 AS row, c.filename,
    r.id AS run, r.started, r.system.hostname AS host, r.system.cpu AS cpu, r.mbench,
    r.protocol.name AS protocol, r.protocol.claims_interval AS claims_interval,
    r.stopped,
    c.comparison, c."case", c.label, c.framework, f.version, i.installed, c.axes, c.samples,
    coalesce(c.samples_per_item, 1) AS samples_per_item, o.outcome,
    split_part(c.axes.scale, 'x', 1)::BIGINT * split_part(c.axes.scale, 'x', 2)::BIGINT AS devices
FROM events c
JOIN (SELECT filename, first(id) FILTER (event = 'run') AS id,
             first(started) FILTER (event = 'run') AS started,
             first(mbench) FILTER (event = 'run') AS mbench,
             first(system) FILTER (event = 'run') AS system,
             first(experiment.protocol) FILTER (event = 'run') AS protocol,
             bool_or(coalesce(experiment.protocol.half_width_goal,
                              protocol.half_width_goal) IS NOT NULL
                     OR coalesce(protocol.looked, false)) AS stopped
      FROM events WHERE event IN ('run', 'resumed') GROUP BY filename) r
    USING (filename)
LEFT JOIN (SELECT filename, "case", first(version) AS version FROM events
           WHERE event = 'framework' GROUP BY filename, "case") f USING (filename, "case")
LEFT JOIN (SELECT filename, "case", first(installed) AS installed FROM events
           WHERE event = 'environment' GROUP BY filename, "case") i USING (filename, "case")
LEFT JOIN (SELECT filename, "case", last(outcome) AS outcome FROM events
           WHERE event = 'outcome' GROUP BY filename, "case") o USING (filename, "case")
WHERE c.event = 'case' AND c.axes.batch_size >= 1
"""


def files_of(*places: Path, tell: Callable[[str], None] = warnings.warn) -> list[Path]:
    """The files of runs in `places`: files, runs' folders, or folders of runs.

    Anything in a folder of runs that is not a run is left out, and reported. Raises UsageError for
    a place that holds no run.
    """
    found: list[Path] = []
    for place in places:
        if place.is_file():
            found.append(place)
        elif (place / EVENTS_FILE).is_file():
            found.append(place / EVENTS_FILE)
        elif runs := find_runs(place):
            found += [run / EVENTS_FILE for run in runs if is_run(run / EVENTS_FILE, tell)]
        else:
            raise UsageError(f"no runs in {place}; measure one, or give another folder")
    if not found:
        raise UsageError(f"no run in {places[0]} can be read; give another folder")
    return found


def is_run(path: Path, tell: Callable[[str], None]) -> bool:
    """Whether a file begins as a run does, whatever follows."""
    try:
        body = json.loads(next(lines_of(path, most=math.inf), "null"))
        check_schema(path, body)
        if body["event"] == "run":
            return True
        why = "it does not begin like a run"
    except MbenchError as error:
        why = str(error)
    except (ValueError, LookupError, TypeError, RecursionError):
        why = "it is not a run of mbench"
    tell(f"{path} is left out: {why}")
    return False


@contextlib.contextmanager
def open_runs(files: Sequence[Path], *, output: Path | None = None) -> Iterator[DuckDBPyConnection]:
    """A database with the tables `cases` and `blocks` of all files, which may write `output`.

    What follows a damaged line is left out, and reported. Raises MbenchError if a file is not a
    run, if it has a newer schema, or if DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise lacking("DuckDB", extra="analysis") from None
    with readable(files) as found, contextlib.closing(duckdb.connect()) as database:
        fill(database, dict(zip(map(str, found), files, strict=True)), output=output)
        yield database


def fill(
    database: DuckDBPyConnection, files: Mapping[str, Path], *, output: Path | None = None
) -> None:
    """Create the tables. The keys of `files` are the paths that are read in place of each file."""
    import duckdb

    named = list(files)
    # The output has another name until it is complete.
    written = [str(output), str(output.with_name(f"tmp_{output.name}"))] if output else []
    try:
        # Neither a view nor a setting takes parameters, so the file names are in variables.
        database.execute("SET VARIABLE files = $files", {"files": named})
        database.execute("SET VARIABLE allowed = $allowed", {"allowed": named + written})
        with contextlib.suppress(duckdb.Error):  # a notebook without ipywidgets has no bar
            database.execute("SET enable_progress_bar = false")
        database.execute(SETTINGS)
        database.execute(
            "CREATE TEMP VIEW lines AS SELECT filename, json FROM read_ndjson_objects("
            "getvariable('files'), filename = true, ignore_errors = true, "
            f"maximum_object_size = {LARGEST_LINE})"
        )
        database.execute(EVENTS)
    except duckdb.Error as error:
        raise MbenchError(f"cannot read the runs: {str(error).splitlines()[0]}") from None
    check(database, files)
    database.execute(CASES)
    database.execute(BLOCKS)


def check(database: DuckDBPyConnection, files: Mapping[str, Path]) -> None:
    headers = database.execute(
        "SELECT filename, max(schema), first(mbench) FROM events WHERE event = 'run' "
        "GROUP BY filename"
    ).fetchall()
    known = {name for name, _, _ in headers}
    for read, file in files.items():
        if read not in known:
            raise MbenchError(f"{file} is not a run of mbench; give one that compare or run wrote")
    for name, schema, version in headers:
        if schema is None or schema > SCHEMA:
            raise MbenchError(
                f"{files[name]} was written by mbench {version} (schema {schema}); "
                f"this version reads schema {SCHEMA}: upgrade mbench"
            )
