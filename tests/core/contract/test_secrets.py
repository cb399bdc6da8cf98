"""Secrets are recognised by the names under which they are given, and shown as a digest."""

from __future__ import annotations

import pytest

from mbench.contract.secrets import (
    conceal,
    hidden,
    is_hidden,
    is_secret,
    masked,
    masked_argument,
    masked_values,
)


@pytest.mark.parametrize(
    "name",
    ["API_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "GOOGLE_CREDENTIALS",
     "WANDB_API_KEY", "PASSPHRASE", "token"],
)  # fmt: skip
def test_names_of_secrets(name):
    assert is_secret(name)
    assert masked_values({name: "s3cr3t"}) == {name: hidden("s3cr3t")}


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "XLA_FLAGS", "PATH"])
def test_names_of_others(name):
    assert masked_values({name: "s3cr3t"}) == {name: "s3cr3t"}


def test_two_secrets_differ_and_one_is_the_same_again():
    assert hidden("a") != hidden("b")
    assert hidden("a") == hidden(hidden("a")) == "***ca9781"
    assert is_hidden(hidden("a"))
    assert hidden("") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tiny:API_TOKEN=s3cr3t:eager", "tiny:API_TOKEN={}:eager"),
        ("export API_KEY=s3cr3t; run", "export API_KEY={} run"),
        ("--frameworks tiny,flaky:HF_TOKEN=s3cr3t,x", "--frameworks tiny,flaky:HF_TOKEN={},x"),
        ('{"API_TOKEN": "s3cr3t"}', '{{"API_TOKEN": "{}"}}'),
        ("{'password': 's3cr3t'}", "{{'password': '{}'}}"),
        ("API_KEY='s3cr3t'", "API_KEY='{}'"),
    ],
)
def test_values_in_texts(text, shown):
    found = masked(text)
    assert "s3cr3t" not in found
    assert found == shown.format(hidden("s3cr3t" + ";" * (";" in text)))
    assert masked(found) == found


@pytest.mark.parametrize("user", ["me:s3cr3t", "ghp_s3cr3t", ":s3cr3t"])
def test_users_and_passwords_of_addresses(user):
    found = masked(f"Looking in indexes: https://{user}@host/simple")
    assert found == f"Looking in indexes: https://{hidden(user)}@host/simple"


@pytest.mark.parametrize(
    "text",
    ["sorted(x, key=name)", "KeyError: 'x'", "TOKENIZERS_PARALLELISM=false", "tiktoken==0.7.0",
     "ssh://git@host/x", "https://host:80/@x", "a KEY: b"],
)  # fmt: skip
def test_other_texts_stay(text):
    assert masked(text) == text


def test_a_word_of_a_command_line_is_masked_to_the_end_of_its_value():
    word = masked_argument("old=tiny:API_TOKEN=a b\"c'd:eager,flaky:OMP_PROC_BIND=true")
    assert word == (
        f"old=tiny:API_TOKEN={hidden(chr(97) + ' b' + chr(34) + 'c' + chr(39) + 'd')}:eager,"
        "flaky:OMP_PROC_BIND=true"
    )


def test_what_was_concealed_is_masked_wherever_it_occurs(monkeypatch):
    monkeypatch.setattr("mbench.contract.secrets._concealed", {})
    conceal({"API_TOKEN": "Zx81-Zx81", "SSH_KEY_TYPE": "ed", "KEY_DIR": "/home/user", "PATH": "/b",
             "SECRET_WORD": "abracadabra"})  # fmt: skip
    assert masked("wrong: Zx81-Zx81!") == f"wrong: {hidden('Zx81-Zx81')}!"
    assert masked("/home/user ed abracadabra") == "/home/user ed abracadabra"
