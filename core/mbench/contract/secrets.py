"""Keeps secrets out of what is written and shown; it recognises them by their names.

A secret is replaced by `***` and a few digits of its digest, which tell secrets apart.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["conceal", "hidden", "is_hidden", "is_secret", "masked", "masked_argument",
           "masked_values", "masked_word"]  # fmt: skip

SECRET = re.compile(r"TOKEN(?!IZ)|KEY|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL", re.IGNORECASE)
HIDDEN = re.compile(r"\*\*\*[0-9a-f]{6}")
DIGITS = 6
ASSIGNED = re.compile(
    # In capitals, a variable's name; in lower case, not a function's argument ("key=").
    r"(?<![A-Za-z0-9_])(?P<name>[A-Z_][A-Z0-9_]*(?:TOKEN(?!IZ)|KEY|PASSWORD|PASSWD|PASSPHRASE"
    r"|SECRET|CREDENTIAL)[A-Z0-9_]*|(?:TOKEN(?!IZ)|KEY|PASSWORD|PASSWD|PASSPHRASE|SECRET"
    r"|CREDENTIAL)[A-Z0-9_]*|[a-z0-9_]*(?:token|password|passwd|passphrase|secret|credentials?"
    r"|api_?key))"
    r"""(?P<sign>["']?\s?(?:=(?!=)|:(?=\s*["'])|(?<=["']):)\s?)"""
    r"""(?P<value>"[^"]*"|'[^']*'|(?:::|[^\s:,"'])+)"""
)
ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^\s/@]+)@")


def is_secret(name: str) -> bool:
    """Whether a variable with that name holds what nobody else should read."""
    return SECRET.search(name) is not None


def is_hidden(value: str) -> bool:
    """Whether a value looks like what `hidden` puts in place of a secret."""
    return HIDDEN.fullmatch(value) is not None


def hidden(value: str) -> str:
    """What replaces a secret; equal secrets get equal replacements."""
    if not value or is_hidden(value):
        return value
    return "***" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:DIGITS]


SHORTEST = 8
"""Shortest value that is searched for in texts: a shorter one may be part of anything."""
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
SEPARATORS = re.compile(r"(,|(?<!:):(?!:))")
_concealed: dict[str, str] = {}


def conceal(variables: Mapping[str, str]) -> None:
    """From now on, `masked` hides the secrets among these variables' values wherever they occur.

    Paths and plain words are not secrets, even if a variable's name, such as SSH_KEY_TYPE, says so.
    """
    for name, value in variables.items():
        plain = value.isalpha() and value.islower()
        if is_secret(name) and len(value) >= SHORTEST and value[0] not in "/~." and not plain:
            _concealed[value] = hidden(value)


def masked(text: str) -> str:
    """`text` without values assigned to names that mark secrets, without users and passwords in
    addresses, and without what `conceal` was given.
    """
    for value, instead in _concealed.items():
        if value in text:
            text = text.replace(value, instead)
    if "=" in text or ":" in text:
        text = ADDRESS.sub(without_user, text)
        text = ASSIGNED.sub(without_value, text)
    return text


def masked_values(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables by name, with secrets masked in their values."""
    return {
        name: hidden(value) if is_secret(name) else masked(value)
        for name, value in variables.items()
    }


def masked_word(name: str, value: str) -> str:
    """NAME=VALUE as it may be shown."""
    return f"{name}={hidden(value) if is_secret(name) else masked(value)}"


def masked_argument(word: str) -> str:
    """A word of a command line as it may be shown; it may list frameworks with their variables."""
    parts = SEPARATORS.split(word)
    for at, part in enumerate(parts):
        name, equals, value = part.partition("=")
        if equals and VARIABLE.fullmatch(name) and is_secret(name):
            parts[at] = f"{name}={hidden(value.replace('::', ':'))}"
    return masked("".join(parts))


def without_user(found: re.Match[str]) -> str:
    if found["user"] == "git":  # the same for everybody, in ssh addresses
        return found[0]
    return f"{found['scheme']}{hidden(found['user'])}@"


def without_value(found: re.Match[str]) -> str:
    value, quote = found["value"].replace("::", ":"), ""
    if value[0] in "\"'":
        value, quote = value[1:-1], value[0]
    return f"{found['name']}{found['sign']}{quote}{hidden(value)}{quote}"
