"""A minute of transfers with bulk data in the kernel, while daemons are killed and started again and links go down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clearway.testbed.experiment import Context
from clearway.testbed.experiments import soak
from clearway.testbed.results import Results
from testbed.test_bulk import BULK

pytestmark = [pytest.mark.testbed, pytest.mark.slow, pytest.mark.usefixtures("clearwayd")]


def test_a_soak_with_bulk_data_in_the_kernel_meets_all_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = soak.VARIANT
    monkeypatch.setattr(soak, "VARIANT", replace(variant, settings=(*variant.settings, *BULK)))
    results = Results("soak", "Soak")
    soak.run(Context(0.1), results)
    assert results.tables["soak"].rows
    assert [one for one in results.verdicts if not one.met] == []
