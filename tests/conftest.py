"""What several test files share."""

from __future__ import annotations

import pytest

from tests.fixture_trees import Trees


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """The fixture trees and the rules' cases in them, each made and audited once."""
    return Trees(tmp_path_factory.mktemp("trees"))
