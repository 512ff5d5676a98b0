"""Show what differs when a check of the shared helpers fails."""

import pytest

pytest.register_assert_rewrite("tests.fix.fixing")
