"""The file inside a managed environment that says what it was built from, and what came of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mbench.contract.reading import read_fields

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Malformed", "Record", "file", "read", "remove", "write"]

_FILE = "environment.json"
_SCHEMA = 1


class Malformed(Exception):
    """A folder holds no readable record; says why."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """How a managed environment came to be; `created` is ISO 8601 in UTC."""

    adapter: str
    requirements: list[str]
    python: str
    packages: dict[str, str]
    created: str
    mbench: str

    @property
    def digest(self) -> str:
        """Equal for environments that hold the same."""
        whole = [self.requirements, self.python, self.packages]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def write(record: Record, *, folder: Path) -> None:
    content = {"schema": _SCHEMA, "digest": record.digest, **asdict(record)}
    file(folder).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> Record:
    """Raises Malformed unless `folder` holds a whole record that nobody changed."""
    try:
        content = json.loads(file(folder).read_text(encoding="utf-8"))
        schema, digest = content.pop("schema"), content.pop("digest")
        if schema != _SCHEMA:
            raise Malformed(f"{_FILE} has the unknown schema {schema!r}")
        record: Record = read_fields(Record, content, where=_FILE)
        same = record.digest == digest
    except FileNotFoundError as error:
        raise Malformed(f"it has no {_FILE}") from error
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise Malformed(f"{_FILE} is not readable: {error}") from error
    if not same:
        raise Malformed(f"{_FILE} does not match its digest")
    return record


def file(folder: Path) -> Path:
    return folder / _FILE


def remove(folder: Path) -> None:
    file(folder).unlink(missing_ok=True)
