"""Breaks the simulations of a figure on purpose and compares the verdicts on its claims: what `test_judge_can_fail*.py`
share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clearway import reproduce
from clearway.reproduce import Job, work
from clearway.reproduce.claims import Finding, Verdict
from clearway.reproduce.figure import Tables

#: From a job to the keys of its scenario that are different once it is broken.
Change = Callable[[Job], Mapping[str, Any]]
#: A figure's own judgement of its tables, or a part of it.
Check = Callable[[Tables], list[Finding]]
GOOD = ("reproduced", "trend reproduced", "holds under a reading")


@dataclass(frozen=True)
class Breaking:
    """A figure at quick scale, cut down to the jobs that some claims need."""

    #: Folder of results: what a break leaves as it was is not run again.
    store: Path
    figure: str
    keep: Callable[[Job], bool]
    check: Check | None = None

    def turns_red(self, change: Change, *claims: str) -> None:
        """The claims hold, and no longer do once the simulations are broken."""
        whole, broken = self.verdicts(lambda _: {}), self.verdicts(change)
        bad = {name: whole[name] for name in claims if whole[name] not in GOOD}
        assert not bad, f"these do not hold unbroken: {bad}"
        good = {name: broken[name] for name in claims if broken[name] != "not reproduced"}
        assert not good, f"breaking does not turn these red: {good}"

    def loses_its_cause(self, change: Change, *claims: str) -> None:
        """The claims fail for a cause that is known, and no longer once the simulations that prove it are broken."""
        for known, changed in ((True, lambda _: {}), (False, change)):
            kinds = {one.claim.id: one.cause.kind for one in self.findings(changed) if one.cause}
            wrong = {name: kinds[name] for name in claims if (kinds[name] != "not isolated") is not known}
            assert not wrong, f"the cause of these is not what it should be: {wrong}"

    def verdicts(self, change: Change) -> dict[str, Verdict]:
        """The verdicts by claim, with the scenarios changed."""
        return {one.claim.id: one.verdict for one in self.findings(change)}

    def findings(self, change: Change) -> list[Finding]:
        """The findings, with the scenarios changed."""
        (figure,) = reproduce.find(self.figure)
        jobs = [job for job in figure.jobs("quick") if self.keep(job)]
        assert jobs, "no job is left"
        jobs = [replace(job, scenario={**job.scenario, **change(job)}) for job in jobs]
        tables = work.gather(figure, jobs, self.store, 1, lambda *_: None).tables
        return self.check(tables) if self.check else figure.check(figure.summarise(tables))


def having(**params: Any) -> Callable[[Job], bool]:
    """The jobs that have these parameters; a tuple or range lists several values of one."""

    def fits(job: Job) -> bool:
        return all(
            job.params[name] in one if isinstance(one, tuple | range) else job.params[name] == one
            for name, one in params.items()
        )

    return fits


def transport(job: Job, **values: Any) -> dict[str, Any]:
    """The scenario's transport with other values of its parameters."""
    return {"transport": {**job.scenario["transport"], **values}}


def switch(job: Job, **values: Any) -> dict[str, Any]:
    """The scenario's switches with other settings."""
    return {"switch": {**job.scenario.get("switch", {}), **values}}


def only(name: str, change: Change) -> Change:
    """The change of those jobs alone whose parameter `transport` is the named one."""
    return lambda job: change(job) if job.params["transport"] == name else {}
