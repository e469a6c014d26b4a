"""A testbed on one Linux machine: hosts and switches in network namespaces, and what is measured on them.

    from clearway.testbed import Network, Shape

    with Network(Shape(hosts=3)) as net:
        net.hosts[1].run("ping", "-c1", net.hosts[0].address)

Everything that a network makes is removed when its `with` block ends, however it ends; what a killed program left
behind is removed by the next one. It needs root; `clearway testbed` runs the experiments of docs/evidence/linux.md on
it.
"""

from clearway.testbed.daemon import Daemon
from clearway.testbed.namespace import Namespace, remove_leftovers
from clearway.testbed.network import Host, Network, Shape, Switch
from clearway.testbed.shell import TestbedError, binary, call, lacking

__all__ = [
    "Daemon",
    "Host",
    "Namespace",
    "Network",
    "Shape",
    "Switch",
    "TestbedError",
    "binary",
    "call",
    "lacking",
    "remove_leftovers",
]
