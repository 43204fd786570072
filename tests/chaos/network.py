"""Hosts: network namespaces on one bridge, and the ways in which they lose each other.

There is no way out of the bridge. The run itself stands on it, with an address of its own, and is
never cut off from anybody.
"""

import subprocess
from collections.abc import Iterable, Sequence
from typing import Final

BRIDGE: Final = "br0"
RUN_ADDRESS: Final = "10.77.0.1"

Rule = tuple[str, ...]
"""An iptables rule without its command: the chain, then what it drops."""

DEAF: Final[tuple[Rule, ...]] = (("INPUT", "-i", "eth0"),)  # hears nobody, though it is heard
MUTE: Final[tuple[Rule, ...]] = (("OUTPUT", "-o", "eth0"),)  # nobody hears it, though it hears
CUT: Final[tuple[Rule, ...]] = (*DEAF, *MUTE)  # loses everybody, the run included


class Network:
    """Some hosts, by name."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Make the bridge and the hosts. Only inside a room of its own."""
        self._addresses = {host: f"10.77.0.{10 + i}" for i, host in enumerate(hosts)}
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "addr", "add", f"{RUN_ADDRESS}/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        for host, address in self._addresses.items():
            _run("ip", "netns", "add", host)
            pair = ("type", "veth", "peer", "name", "eth0", "netns", host)
            _run("ip", "link", "add", f"v-{host}", *pair)
            _run("ip", "link", "set", f"v-{host}", "master", BRIDGE, "up")
            _run("ip", "-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", host, "link", "set", "eth0", "up")
            _run("ip", "-n", host, "link", "set", "lo", "up")

    def address(self, host: str) -> str:
        """Return the address of a host."""
        return self._addresses[host]

    def on(self, host: str, command: Iterable[str]) -> list[str]:
        """Return the command that runs another on a host.

        Not `ip netns exec`: that mounts `/sys` anew, and the cgroups would be gone.
        """
        return ["nsenter", f"--net=/run/netns/{host}", "--", *command]

    def parted(self, other: str) -> tuple[Rule, ...]:
        """Return the rules by which a host and another lose each other."""
        address = self._addresses[other]
        return (("INPUT", "-s", address), ("OUTPUT", "-d", address))

    def drop(self, host: str, rules: Iterable[Rule]) -> None:
        """Let rules hold on a host."""
        self._change(host, "-A", rules)

    def mend(self, host: str, rules: Iterable[Rule]) -> None:
        """Let rules hold no more."""
        self._change(host, "-D", rules)

    def _change(self, host: str, how: str, rules: Iterable[Rule]) -> None:
        for rule in rules:
            _run(*self.on(host, ("iptables", "-w", how, *rule, "-j", "DROP")))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
