"""What the tests of all adapters share."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("families", "lies")
