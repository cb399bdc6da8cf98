"""A tier's settings are visible to models while they are built, and no longer."""

from __future__ import annotations

from mbench.sdk.settings import building, setting


def test_settings_hold_while_a_model_is_built():
    assert setting("layers") == ""
    with building({"layers": "own"}):
        assert (setting("layers"), setting("layout")) == ("own", "")
        with building({}):
            assert setting("layers") == ""
        assert setting("layers") == "own"
    assert setting("layers") == ""
