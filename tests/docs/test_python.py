"""The page of the Python API says what the code has."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import fields
from operator import attrgetter

import pytest

import mbench

PAGE = "docs/python.md"
MANY = 8


def written(function):
    """A function's signature as in the source, without annotations and `self`.

    Many keywords are replaced by three dots: they are listed under a heading of their own.
    """
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    arguments = node.args
    for argument in [*arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            argument.annotation = None
    arguments.args = [argument for argument in arguments.args if argument.arg != "self"]
    said = ast.unparse(arguments)
    if len(arguments.kwonlyargs) > MANY:
        said = f"{said.partition('*')[0]}*, ..."
    return f"{node.name}({said})"


def first_cells(page, heading):
    """The names in the first column of the table under a heading."""
    section = re.split(r"\n##+ ", page.partition(f"\n{heading}\n")[2])[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def functions():
    return [f for name in mbench.__all__ if inspect.isfunction(f := getattr(mbench, name))]


def test_every_function_has_its_signature(pages):
    titles = re.findall(r"^### `mbench\.(.+)`$", pages[PAGE], re.MULTILINE)
    assert sorted(titles) == sorted(map(written, functions()))


def test_every_keyword_is_listed(pages):
    taken = {
        name: parameter
        for function in functions()
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    listed = first_cells(pages[PAGE], "## Keywords")
    assert sorted(set(listed) - {"True", "False", "None"}) == sorted(taken)


@pytest.mark.parametrize("kind", [mbench.Verdict, mbench.Proof, mbench.Experiment])
def test_every_field_is_documented(kind, pages):
    listed = first_cells(pages[PAGE], f"### `{kind.__name__}`")
    assert sorted(listed) == sorted(field.name for field in fields(kind))


def test_every_member_of_a_result_is_documented(pages):
    said = first_cells(pages[PAGE], "### `Result`")
    members = {
        name: written(member) if inspect.isfunction(member) else name
        for name, member in vars(mbench.Result).items()
        if not name.startswith("_")
    } | {field.name: field.name for field in fields(mbench.Result)}
    assert sorted(said) == sorted(members.values())


def test_every_public_name_is_documented(pages):
    for name in mbench.__all__:
        assert re.search(rf"`(mbench\.)?{name}\b", pages[PAGE]), name


def test_calls_in_the_examples_take_these_keywords(pages):
    blocks = re.findall(r"```python\n(.*?)```", pages[PAGE], re.DOTALL)
    assert len(blocks) > 2
    seen = 0
    for block in blocks:
        for call in ast.walk(ast.parse(block)):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("mbench."):
                function = attrgetter(ast.unparse(call.func).removeprefix("mbench."))(mbench)
                keywords = {keyword.arg: None for keyword in call.keywords}
                inspect.signature(function).bind(*call.args, **keywords)
                seen += 1
    assert seen > 3
