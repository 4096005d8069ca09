# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces, and weir's programs inside them with this machine's kernel as their peer.

A namespace here has no name: a file descriptor of the test holds it and the processes in it. So
nothing is left behind however the test ends, kill -9 included: the descriptors go, the programs die
with their parent (setpriv --pdeathsig), the kernel takes the interfaces away. It needs no mount, so
it works in a chroot too, as long as that has /proc, /dev/net/tun and the right to make namespaces.

Two wires, alike for the tests. On both, weir is 10.77.0.2 and the kernel 10.77.0.1:

  TapWire    the program runs in the namespace where its TAP lives: the driver configures the
             interface by name, from its own namespace. The kernel of that namespace is the peer.
  VethWire   the program holds one end of the pair through net_af_packet in one namespace, the
             kernel of another namespace holds the other end.

The test scripts get: udp_sink, udpflood, config folder, echo. Python's own sockets come from inside
a namespace too: `with wire.kernel: socket.socket()`; only the calling thread moves.
"""

import ctypes
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "app"))
from apptest import DEADLINE_S, FLOOD, SINK, Process, Tap, eal, scratch  # noqa: E402,F401

ECHO = os.path.abspath(sys.argv[4])
WEIR, KERNEL, NOBODY = "10.77.0.2", "10.77.0.1", "10.77.0.99"
SIZES = (0, 1, 18, 1472)
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def enter(fd):
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Netns:
    """A network namespace. `with ns:` puts this thread, and what it starts, inside."""

    def __init__(self):
        self.outside = []
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            # No IPv6 chatter of the kernel's own: the tests count frames.
            for which in ("all", "default"):
                path = f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6"
                if os.path.exists(path):
                    with open(path, "w", encoding="ascii") as f:
                        f.write("1")
        finally:
            enter(home)
            os.close(home)
        self.run("ip", "link", "set", "lo", "up")

    def __enter__(self):
        self.outside.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
        enter(self.fd)
        return self

    def __exit__(self, *_):
        fd = self.outside.pop()
        enter(fd)
        os.close(fd)

    def run(self, *command, check=True, timeout=30):
        with self:
            r = subprocess.run(command, capture_output=True, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, check=False, timeout=timeout)
        if check and r.returncode:
            raise RuntimeError(f"{' '.join(command)}: {r.stdout}{r.stderr}")
        return r

    def start(self, *command, **more):
        """A program that dies with this test."""
        with self:
            return Process(["setpriv", "--pdeathsig", "KILL", *command], **more)

    def udp(self, *address):
        """A UDP socket of this namespace; with an address, bound to it."""
        with self:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(DEADLINE_S)
        if address:
            s.bind(address)
        return s

    def raw(self):
        """A socket that sends whole IPv4 packets, headers and all."""
        with self:
            s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        return s

    def link(self, device):
        """A socket that sends and receives whole frames."""
        with self:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            s.bind((device, 0))
        return s

    def has(self, device):
        return self.run("ip", "link", "show", "dev", device, check=False).returncode == 0

    def close(self):
        os.close(self.fd)
        self.fd = -1


def wait_for(what, deadline_s=DEADLINE_S, pause_s=0.01):
    """Until what() is true; its last answer."""
    end = time.monotonic() + deadline_s
    while True:
        answer = what()
        if answer or time.monotonic() >= end:
            return answer
        time.sleep(pause_s)


def skip_all(why):
    print(f"1..0 # SKIP {why}", flush=True)
    sys.exit(0)  # in TAP the plan says it


def require(*programs, tap=False, veth=False):
    """Ends the script as skipped, with the reason, when this machine cannot run it."""
    if os.geteuid() != 0:
        skip_all("needs root")
    missing = [p for p in ("ip", "setpriv", *programs) if shutil.which(p) is None]
    if missing:
        skip_all(f"not installed: {' '.join(missing)}")
    if not os.path.exists("/proc/thread-self/ns/net"):
        skip_all("no /proc, or a kernel without network namespaces")
    try:
        ns = Netns()
    except OSError as error:
        skip_all(f"cannot make a network namespace ({error})")
    if tap:
        try:
            with ns, open("/dev/net/tun", "r+b", buffering=0) as f:
                import fcntl  # noqa: PLC0415
                fcntl.ioctl(f, 0x400454CA, struct.pack("16sH22x", b"weirprobe", 0x1002))
        except OSError as error:
            skip_all(f"no TAP interfaces here: /dev/net/tun: {error.strerror}")
    if veth:
        r = ns.run("ip", "link", "add", "name", "probe0", "type", "veth", "peer", "name",
                   "probe1", check=False)
        if r.returncode:
            skip_all(f"no veth interfaces here: {r.stderr.strip()}")
    ns.close()


class Wire:
    """Programs on one side, a kernel on the other."""

    kind = device = None
    app = kernel = None  # namespaces
    address = f"{WEIR}/24"
    DEPTH = 4096  # frames that the wire holds, lest a busy machine's pauses lose any

    def vdev(self, queues=1):
        raise NotImplementedError

    def connect(self, process=None):
        """What can only be done once the program has opened its side."""

    def options(self, side=0, workers=1, queues=1):
        return [*eal(side, workers), "--log-level", "weir*:info", "--vdev", self.vdev(queues),
                "--"]

    def ready(self, process, pattern):
        if not process.until(pattern):
            process.kill()
            process.end()
            raise RuntimeError(f"did not start: {process.show()}")
        self.connect()
        return process

    def sink(self, *options, workers=1, queues=1):
        return self.ready(self.app.start(SINK, *self.options(0, workers, queues), "--addr",
                                         self.address, "--json", *options), "listening on")

    def echo(self, port=7, workers=1):
        return self.ready(self.app.start(ECHO, *self.options(0, workers), self.address, str(port)),
                          "echo: ready")

    def flood(self, *options, to=KERNEL, side=0):
        """udpflood starts to send at once: on a TAP its --wait-link covers connect()."""
        p = self.app.start(FLOOD, *self.options(side), "--addr", self.address, "--json", *options,
                           to)
        self.connect(p)
        return p

    def neigh(self, address=WEIR):
        """(state, MAC) that the kernel has for a neighbour."""
        out = self.kernel.run("ip", "-json", "neigh", "show", address).stdout
        for entry in json.loads(out or "[]"):
            return entry["state"][0], entry.get("lladdr")
        return None, None

    def ping(self, n=1, *options):
        """How many are answered: n, unless 5 s do not suffice. (With -W instead of -w ping would
        wait for the last one no longer than two of the round trips before.) With one queue, all
        that was sent before has then been taken."""
        out = self.kernel.run("ping", "-n", "-q", "-c", str(n), "-i", "0.02", "-w", "5", *options,
                              WEIR, check=False).stdout
        m = re.search(r"(\d+) packets transmitted, (\d+) received", out)
        return int(m[2]) if m else 0

    def forget(self, address=WEIR):
        self.kernel.run("ip", "neigh", "flush", "to", address)


class TapWire(Wire):
    kind = "tap"
    device = "weir0"  # the kernel's interface

    def __init__(self):
        self.app = self.kernel = Netns()

    def vdev(self, queues=1):
        return f"net_tap0,iface={self.device}"

    def connect(self, process=None):
        if not wait_for(lambda: self.kernel.has(self.device) or (process and process.poll())):
            raise RuntimeError("no TAP interface appeared")
        if process and process.poll():
            raise RuntimeError(f"did not start: {process.show()}")
        self.kernel.run("ip", "address", "replace", f"{KERNEL}/24", "dev", self.device)
        self.kernel.run("ip", "link", "set", self.device, "txqueuelen", str(self.DEPTH), "up")

    def close(self):
        self.app.close()


class VethWire(Wire):
    kind = "af_packet"
    device = "peer0"  # the kernel's end; the program's is weir0

    def __init__(self, offloads=False):
        self.app, self.kernel = Netns(), Netns()
        pid_fd = f"/proc/{os.getpid()}/fd/{self.kernel.fd}"
        self.app.run("ip", "link", "add", "name", "weir0", "type", "veth", "peer", "name", self.device,
                     "netns", pid_fd)
        self.app.run("ip", "link", "set", "weir0", "up")
        self.kernel.run("ip", "address", "add", f"{KERNEL}/24", "dev", self.device)
        if not offloads:
            self.offloads_off()
        self.kernel.run("ip", "link", "set", self.device, "up")

    def offloads_off(self):
        self.kernel.run("ethtool", "-K", self.device, "tx", "off")

    def vdev(self, queues=1):
        return f"net_af_packet0,iface=weir0,qpairs={queues},framecnt={self.DEPTH}"

    def close(self):
        self.app.close()
        self.kernel.close()


def interrupt(tap, process, name, code=0):
    """SIGINT, and how it must end: with this exit code and with exact accounting. The report."""
    import signal  # noqa: PLC0415
    process.send_signal(signal.SIGINT)
    return ended(tap, process, name, code)


def ended(tap, process, name, code=0):
    got = process.end()
    if not tap.eq(got, code, f"{name}: ends with exit code {code}", process.show()):
        return None
    try:
        report = process.report()
    except ValueError as error:
        tap.ok(False, f"{name}: the report is JSON", error, process.show())
        return None
    tap.ok(report["accounting"]["exact"], f"{name}: accounting exact", report)
    return report


# ---- payloads: as src/apps/common/stamp.h describes them ----

STAMP_LEN = 16


def pattern(key, first, end):
    return bytes((key + i) & 0xFF for i in range(first, end))


def stamp(seq, size, time_ns=None):
    """A payload that udp_sink --check accepts as number seq of its source."""
    time_ns = time.monotonic_ns() if time_ns is None else time_ns
    key = ((seq * 0x9E3779B97F4A7C15 ^ time_ns * 0xC2B2AE3D27D4EB4F) & (1 << 64) - 1) >> 56
    head = struct.pack(">HHLQ", 0x5752, seq >> 32, seq & 0xFFFFFFFF, time_ns)
    return head + pattern(key, STAMP_LEN, size)


def stamp_seq(payload):
    """The number of a stamped payload; None when a single byte is not as it must be."""
    if len(payload) < STAMP_LEN:
        return None
    magic, high, low, time_ns = struct.unpack(">HHLQ", payload[:STAMP_LEN])
    seq = high << 32 | low
    return seq if magic == 0x5752 and payload == stamp(seq, len(payload), time_ns) else None


# ---- packets by hand ----

def ones_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def udp_packet(payload=b"by hand", sport=4000, dport=6666, source=KERNEL, to=WEIR, options=b"",
               ident=1, frag=0, csum=None, body=None):
    """An IPv4 packet with UDP inside. frag: the flags and offset word; body replaces the datagram."""
    src, dst = socket.inet_aton(source), socket.inet_aton(to)
    if body is None:
        body = struct.pack(">4H", sport, dport, 8 + len(payload), 0) + payload
        right = ~ones_sum(src + dst + struct.pack(">2H", 17, len(body)) + body) & 0xFFFF or 0xFFFF
        body = body[:6] + struct.pack(">H", right if csum is None else csum) + body[8:]
    header = struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 20 + len(options) + len(body),
                         ident, frag, 64, 17, 0, src, dst) + options
    header = header[:10] + struct.pack(">H", ~ones_sum(header) & 0xFFFF) + header[12:]
    return header + body


def frame(wire, packet, ethertype=0x0800):
    """The packet in a frame from the kernel's end to weir, whose MAC the kernel must know."""
    mac = wire.neigh()[1]
    with open_link(wire) as s:
        own = s.getsockname()[4]
    return bytes.fromhex(mac.replace(":", "")) + own + struct.pack(">H", ethertype) + packet


def open_link(wire):
    return wire.kernel.link(wire.device)
