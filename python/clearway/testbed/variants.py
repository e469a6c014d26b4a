"""Ways for hosts to control congestion, as a comparison needs them: plain TCP, or TCP under a daemon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clearway.testbed.daemon import Daemon
from clearway.testbed.network import Host, Shape


@dataclass(frozen=True)
class Variant:
    """A way to control congestion. `label` is the name of the transport whose look it has in pictures."""

    label: str
    congestion_control: str = "cubic"
    ecn: bool = False
    #: The transport that `clearwayd host` runs, if it runs.
    credits: str | None = None
    pac: bool = False
    #: The threshold at which ports mark, in packets, or None.
    marking: int | None = None
    #: More words for the daemons.
    settings: tuple[str, ...] = ()

    def shape(self, shape: Shape) -> Shape:
        """The network for it."""
        return replace(shape, congestion_control=self.congestion_control, ecn=self.ecn, marking=self.marking)

    def start(self, hosts: Sequence[Host]) -> list[Daemon]:
        """Starts the daemons at hosts, if there are any."""
        daemons = []
        for host in hosts:
            rate = f"{host.network.shape.rate_bps // 1_000_000} Mbps"
            if self.credits is not None:
                words = ("host", "--transport", self.credits, "--dev", host.device, "--rate", rate, *self.settings)
                daemons.append(host.daemon(*words))
            if self.pac:
                daemons.append(host.daemon("pac", "--dev", host.device, "--rate", rate, *self.settings))
        return daemons


#: The threshold of marks at 100 Mbit/s: RFC 8257 wants more than a seventh of the bandwidth-delay product.
MARKING = 20
CUBIC = Variant("cubic")
DCTCP = Variant("dctcp", congestion_control="cw_dctcp", ecn=True, marking=MARKING)
EXPRESSPASS = Variant("expresspass", credits="expresspass")
EC4 = Variant("ec4", credits="ec4", marking=MARKING)
PAC = Variant("pac", pac=True)
VARIANTS = {one.label: one for one in (EXPRESSPASS, EC4, DCTCP, CUBIC, PAC)}
