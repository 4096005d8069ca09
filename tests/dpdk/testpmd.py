# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd with our driver as a plugin, driven through its command line.

A test script is called with the paths of udp_sink, udpflood, the folder of example configurations
and the plugin librte_net_liq.so. Each command is sent when the prompt of the one before it has
come, and waits for its own prompt with a deadline; nothing sleeps to wait. testpmd gets a terminal
(a pty), since its output would otherwise come in another order than it was written.
"""

import atexit
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "app"))
from apptest import DEADLINE_S, SINK, Tap, cpus, running, scratch  # noqa: E402,F401

PLUGIN = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
PROMPT = "testpmd> "
DRIVER = "net_liq_sim"
NO_HUGE = ["--no-huge", "--no-shconf"]
COMMAND_S = 20  # the slowest command: start of a port whose device waits for its deadlines

tap = Tap()


class Failed(Exception):
    """testpmd did not do what the test needs to go on."""


def skip_all(why):
    print(f"1..0 # SKIP {why}", flush=True)
    sys.exit(0)  # in TAP the plan says it


def require(*programs, root=False):
    missing = [p for p in ("dpdk-testpmd", *programs) if shutil.which(p) is None]
    if missing:
        skip_all(f"not installed: {' '.join(missing)}")
    if root and os.geteuid() != 0:
        skip_all("needs root")


def environment():
    """For programs that load the plugin. By its bare name, for EAL refuses a path of which any
    folder is writable for all, as a build in /tmp is. When it was built with sanitizers their
    library comes first."""
    env = dict(os.environ, LC_ALL="C")
    env["LD_LIBRARY_PATH"] = os.path.dirname(PLUGIN)
    linked = subprocess.run(["ldd", PLUGIN], capture_output=True, text=True, check=False).stdout
    libs = re.findall(r"=> (\S*lib(?:asan|ubsan|clang_rt)\S*)", linked)
    if libs:
        env["LD_PRELOAD"] = ":".join(libs)
        env["ASAN_OPTIONS"] = "detect_leaks=0:" + env.get("ASAN_OPTIONS", "")
    return env


def command_line(program, vdevs=(), eal=(), app=(), plugin=True, memory=NO_HUGE, prefix="",
                 megabytes=256, lcores=None):
    """Main thread and one forwarding lcore, both on whatever CPU is free (the threads of cards
    inherit that), unless lcores says else ("": as the program likes)."""
    if lcores is None:
        mine = ",".join(map(str, cpus()))
        lcores = f"0@({mine}),1@({mine})"
    args = [program, *memory, "-m", str(megabytes), "--no-telemetry", "--file-prefix",
            f"weirdpdk{os.getpid()}{prefix}"]
    if lcores:
        args += ["--lcores", lcores]
    if "-a" not in eal:
        args.append("--no-pci")
    if plugin:
        args += ["-d", os.path.basename(PLUGIN)]
    for vdev in vdevs:
        args += ["--vdev", vdev]
    args += eal
    return [*args, "--", *app]


class Terminal:
    """A program on a pty. Everything it wrote is in .text."""

    def __init__(self, args, env=None):
        self.args = args
        master, slave = pty.openpty()
        self.fd = master
        os.set_blocking(master, False)
        self.text = ""
        self.seen = 0
        self.dull = []  # parts of text
        self.process = subprocess.Popen(args, stdin=slave, stdout=slave, stderr=slave,
                                        env=env or environment(), cwd=scratch,
                                        start_new_session=True)
        os.close(slave)
        running.append(self.process)

    def read(self, wait_s):
        """False when the program has closed its end."""
        ready, _, _ = select.select([self.fd], [], [], wait_s)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.text += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def until(self, pattern, deadline_s=COMMAND_S):
        """The text up to and with the first match after what was consumed before; None: it never
        came."""
        end = time.monotonic() + deadline_s
        alive = True
        while True:
            m = re.compile(pattern).search(self.text, self.seen)
            if m:
                text = self.text[self.seen:m.end()]
                self.seen = m.end()
                return text
            left = end - time.monotonic()
            if not alive or left <= 0:
                return None
            alive = self.read(left)

    def write(self, text):
        data = text.encode()
        while data:
            try:
                data = data[os.write(self.fd, data):]
            except BlockingIOError:
                self.read(0.05)

    def end(self, deadline_s=COMMAND_S):
        """Exit code; "timeout" when it had to be killed."""
        end = time.monotonic() + deadline_s
        while time.monotonic() < end and self.read(end - time.monotonic()):
            pass
        try:
            code = self.process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "timeout"
        if self.process in running:
            running.remove(self.process)
        os.close(self.fd)
        return code

    def show(self):
        """What it was called with and what it wrote, shortened."""
        text, at = "", 0
        for start, end in [*self.dull, (len(self.text), 0)]:
            text += self.text[at:start]
            at = end
        if len(text) > 6000:
            text = f"{text[:3000]}\n[...]\n{text[-3000:]}"
        return f"{' '.join(self.args)}\n{text}"


class Testpmd(Terminal):
    """dpdk-testpmd -i, ready for commands."""

    def __init__(self, *vdevs, app=(), mbufs=8192, start_s=COMMAND_S, env=None, links=True,
                 **more):
        super().__init__(command_line("dpdk-testpmd", vdevs, app=[
            "-i", f"--total-num-mbufs={mbufs}", "--no-flush-rx", "--disable-link-check", *app],
            **more), env=env)
        if self.until(re.escape(PROMPT), start_s) is None:
            self.process.kill()
            self.end()
            raise Failed(f"testpmd did not come up: {self.show()}")
        if re.search(r"^Fail to (configure|start) port", self.text, re.M):
            raise Failed(f"a port does not start: {self.show()}")
        if links:
            self.links_up()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process in running:
            if kind is None:
                code = self.quit()
                tap.ok(code == 0, "testpmd ends well", f"exit code {code}", self.show())
            else:
                self.process.kill()
                self.end()

    def cmd(self, *commands, deadline_s=COMMAND_S):
        """Output of the last command, without its echo."""
        out = ""
        for command in commands:
            self.write(command + "\n")
            out = self.until(re.escape(PROMPT), deadline_s)
            if out is None:
                raise Failed(f"no prompt within {deadline_s} s after '{command}': {self.show()}")
            out = out[:-len(PROMPT)]
            echo = out.find(command + "\n")
            if echo >= 0:
                out = out[:echo] + out[echo + len(command) + 1:]
            if re.search(r"^(Bad arguments|Command not found|Ambiguous command)", out, re.M):
                raise Failed(f"testpmd knows no '{command}': {out}")
        return out

    def ask(self, command):
        """The same for what is asked again and again: show() leaves it out."""
        start = self.seen
        out = self.cmd(command)
        self.dull.append((start, self.seen))
        return out

    def quit(self):
        self.write("quit\n")
        return self.end()

    def stats(self, port):
        """Basic statistics by the names of struct rte_eth_stats."""
        out = self.ask(f"show port stats {port}")
        names = {"RX-packets": "ipackets", "RX-missed": "imissed", "RX-bytes": "ibytes",
                 "RX-errors": "ierrors", "RX-nombuf": "rx_nombuf", "TX-packets": "opackets",
                 "TX-errors": "oerrors", "TX-bytes": "obytes"}
        found = {names[k]: int(v) for k, v in re.findall(r"([TR]X-\w+):\s+(\d+)", out)}
        if set(found) != set(names.values()):
            raise Failed(f"no statistics of port {port}: {out}")
        return found

    def xstats(self, port):
        out = self.ask(f"show port xstats {port}")
        return {k: int(v) for k, v in re.findall(r"^(\w+): (\d+)$", out, re.M)}

    def info(self, port):
        out = self.ask(f"show port info {port}")
        return {k.strip(): v.strip() for k, v in re.findall(r"^([^:\n*]+):(.*)$", out, re.M)}

    def mac(self, port):
        return self.info(port)["MAC address"].lower()

    def port(self, name):
        """Number of a port by the name of its device."""
        m = re.search(rf"^(\d+)\s+\S+\s+{name}\s", self.ask("show port summary all"), re.M)
        if not m:
            raise Failed(f"no port of {name}: {self.text[-1500:]}")
        return int(m[1])

    def pool(self, name="mb_pool_0"):
        """(free mbufs, size) of a pool."""
        out = self.cmd(f"dump_mempool {name}")
        size = re.search(r"^\s*size=(\d+)", out, re.M)
        common = re.search(r"common_pool_count=(\d+)", out)
        cached = re.search(r"total_cache_count=(\d+)", out)
        if not (size and common):
            raise Failed(f"no pool {name}: {out}")
        return int(common[1]) + (int(cached[1]) if cached else 0), int(size[1])

    def link_is(self, port, state, deadline_s=COMMAND_S):
        """Waits until the link of a port is "up" or "down"; whether it came so."""
        return wait_for(lambda: self.info(port).get("Link status") == state, deadline_s)

    def links_up(self):
        """Waits for every link, as testpmd itself would, with a deadline."""
        def all_up():
            out = self.ask("show port summary all")
            return not re.search(r"\bdown\b", out)

        if not wait_for(all_up, COMMAND_S, 0.03):
            raise Failed(f"a link stays down: {self.show()}")

    def start(self, command="start"):
        out = self.cmd(command)
        if re.search(r"not started|Not all ports|already started", out):
            raise Failed(f"'{command}': {out}")


# --- Two cabled cards -------------------------------------------------------------------------


def pair(*more, roles=("vf", "vf"), queues=1):
    """Two cards on one cable."""
    tail = "".join("," + m for m in more)
    return [f"{DRIVER}{i},role={role},queues={queues},wire=pair:w{tail}"
            for i, role in enumerate(roles)]


def know_each_other(t, a=0, b=1):
    """Frames that testpmd makes for the far end carry its address."""
    for here, there in ((a, b), (b, a)):
        t.cmd(f"set eth-peer {here} {t.mac(there)}")


# Frames that a port did not deliver: its errors, those that were not for it, and those that the
# wire in front of it had no room for. And frames that the wire behind a port has lost.
NOT_DELIVERED = ("imissed", "ierrors", "rx_dmac_drop", "rx_fw_err_drop", "rx_fw_err_link",
                 "wire_in_full", "wire_port_in_bad")
LOST_BEHIND = ("wire_unplugged", "wire_lost", "wire_port_out_full", "wire_port_out_nombuf")
TWICE = "wire_duplicated"


def look(end):
    """Statistics of an end, which is (testpmd, port): basic ones, and those extended ones that
    matter here."""
    t, port = end
    stats, x = t.stats(port), t.xstats(port)
    return {**stats, **{n: x[n] for n in (*NOT_DELIVERED, *LOST_BEHIND, TWICE) if n in x}}


def counted(here, there):
    """Frames from there to here that were lost, less those that came twice, by the counters of
    both."""
    return (sum(here.get(n, 0) for n in NOT_DELIVERED) - there.get(TWICE, 0) +
            sum(there.get(n, 0) for n in LOST_BEHIND))


def drain(ends, done, deadline_s=3):
    """Reads what is still on its way and forwards nothing, until done(statistics of the ends) or
    time is up. The statistics then."""
    processes = list(dict.fromkeys(t for t, _ in ends))
    until = time.monotonic() + deadline_s
    for t in processes:
        t.cmd("set fwd rxonly")
        t.start()
    while True:
        now = [look(end) for end in ends]
        if done(now) or time.monotonic() > until:
            break
        time.sleep(0.005)
    for t in processes:
        t.cmd("stop")
    return [look(end) for end in ends]


def balanced(name, a, b, lost=0):
    """Checks both directions between two ends: each frame that one sent was received by the other
    or is in one of its counters of losses. lost: how many may be there; None: any. Gives the
    statistics of both."""
    def even(now):
        x, y = now
        return (y["ipackets"] + counted(y, x) == x["opackets"] and
                x["ipackets"] + counted(x, y) == y["opackets"])

    stats = drain((a, b), even)
    for src, dst, s, d in ((a, b, *stats), (b, a, *reversed(stats))):
        way = f"from port {src[1]} to port {dst[1]}"
        tap.eq(d["ipackets"] + counted(d, s), s["opackets"],
               f"{name}: what was sent {way} came or was counted", s, d,
               src[0].xstats(src[1]), dst[0].xstats(dst[1]))
        if lost is not None:
            tap.eq((counted(d, s), s["oerrors"]), (lost, 0), f"{name}: nothing lost {way}", s, d)
    return stats


def accounted(t, name, a=0, b=1, lost=0):
    """balanced() for two ports of one testpmd."""
    return balanced(name, (t, a), (t, b), lost)


def forward(t, mode, enough=20000, start="start tx_first", a=0, b=1, lost=0):
    """Forwards until enough came to both ports, then checks the sums."""
    t.cmd("clear port stats all", f"set fwd {mode}")
    t.start(start)
    came = wait_for(lambda: min(t.stats(p)["ipackets"] for p in (a, b)) >= enough, 20)
    text = t.cmd("stop")
    tap.ok(came, f"{mode}: {enough} frames each way in time", text, t.stats(a), t.stats(b))
    return accounted(t, mode, a, b, lost=lost)


def closed_and_whole(t, pool="mb_pool_0"):
    """All mbufs are back when the ports are stopped, and still when they are closed."""
    for command in ("port stop all", "port close all"):
        t.cmd(command)
        free, size = t.pool(pool)
        tap.eq(free, size, f"every mbuf is in its pool after '{command}'", t.show())


def wait_for(what, deadline_s=DEADLINE_S, pause_s=0.01):
    """Until what() is true; its last answer."""
    end = time.monotonic() + deadline_s
    while True:
        answer = what()
        if answer or time.monotonic() >= end:
            return answer
        time.sleep(pause_s)


def run(vdevs=(), deadline_s=COMMAND_S, program="dpdk-testpmd", env=None, wrap=(), **more):
    """A program that is expected to end by itself: (exit code, all it wrote). wrap: a command that
    is put in front. Who waits for a key gets one."""
    t = Terminal([*wrap, *command_line(program, vdevs, **more)], env=env)
    t.write("\n")
    code = t.end(deadline_s)
    return code, t.text


class HugePages:
    """Pages of 2 MiB on a mount of our own, given back afterwards. As options of EAL: .options."""

    COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

    def __init__(self, megabytes):
        self.folder = tempfile.mkdtemp(prefix="huge.", dir=scratch)
        self.pages = megabytes // 2
        self.added = 0
        self.mounted = False
        self.options = ["--huge-dir", self.folder]
        atexit.register(self.close)

    def count(self):
        with open(self.COUNT, encoding="ascii") as f:
            return int(f.read())

    def set_count(self, n):
        with open(self.COUNT, "w", encoding="ascii") as f:
            f.write(str(n))

    def open(self):
        """Why there are none, or None."""
        if os.geteuid() != 0:
            return "needs root"
        try:
            before = self.count()
            self.set_count(before + self.pages)
            self.added = self.count() - before
            if self.added < self.pages:
                return f"no {self.pages} huge pages of 2 MiB to be had"
        except OSError as error:
            return f"no huge pages of 2 MiB: {error}"
        mount = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none",
                                self.folder], capture_output=True, text=True, check=False)
        if mount.returncode:
            return f"no hugetlbfs: {mount.stderr.strip()}"
        self.mounted = True
        return None

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.folder], check=False)
            self.mounted = False
        if self.added:
            self.set_count(max(0, self.count() - self.added))
            self.added = 0


# --- Frames and capture files -----------------------------------------------------------------


def ip_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def udp_frame(dst, src, payload, sport=1024, dport=9, saddr="10.0.0.1", daddr="10.0.0.2",
              good_ip=True, good_udp=True, vlan=None):
    """Ethernet, IPv4, UDP; addresses as text."""
    quad = lambda text: bytes(int(x) for x in text.split("."))  # noqa: E731
    length = 8 + len(payload)
    pseudo = quad(saddr) + quad(daddr) + struct.pack("!BBH", 0, 17, length)
    udp = struct.pack("!HHHH", sport, dport, length, 0)
    total = ip_sum(pseudo + udp + payload) or 0xFFFF
    if not good_udp:
        total = (total ^ 0x5A5A) or 1
    udp = struct.pack("!HHHH", sport, dport, length, total)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0, 64, 17, 0) + quad(saddr) + quad(daddr)
    total = ip_sum(ip) ^ (0 if good_ip else 0x1111)
    ip = ip[:10] + struct.pack("!H", total) + ip[12:]
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return mac_bytes(dst) + mac_bytes(src) + tag + b"\x08\x00" + ip + udp + payload


def sums_of(frame):
    """(IPv4 header right, UDP sum right) of an untagged IPv4 UDP frame."""
    ip = frame[14:34]
    total = struct.unpack("!H", ip[2:4])[0]
    udp = frame[34:14 + total]
    pseudo = ip[12:20] + struct.pack("!BBH", 0, 17, len(udp))
    return ip_sum(ip) == 0, udp[6:8] != b"\0\0" and ip_sum(pseudo + udp) == 0


def toeplitz(key, data):
    """RSS hash of Microsoft's kind; both bytes."""
    bits = int.from_bytes(key, "big")
    width = 8 * len(key)
    total = 0
    for i in range(8 * len(data)):
        if data[i // 8] >> (7 - i % 8) & 1:
            total ^= bits >> (width - 32 - i) & 0xFFFFFFFF
    return total


def write_pcap(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for i, frame in enumerate(frames):
            f.write(struct.pack("<IIII", 1, i, len(frame), len(frame)) + frame)


def read_pcap(path):
    with open(path, "rb") as f:
        data = f.read()
    magic = data[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, frames = 24, []
    while at + 16 <= len(data):
        _, _, held, _ = struct.unpack_from(order + "IIII", data, at)
        frames.append(data[at + 16:at + 16 + held])
        at += 16 + held
    return frames


# --- A script ---------------------------------------------------------------------------------


def main(*cases):
    """Runs the cases of a script; one that breaks off is a failure and ends no other. A name on
    the environment variable DPDK_TEST_FILTER selects."""
    wanted = os.environ.get("DPDK_TEST_FILTER", "")
    for case in cases:
        name = case.__name__.replace("_", " ")
        if wanted not in case.__name__:
            continue
        began = time.monotonic()
        try:
            case()
        except Exception as error:  # noqa: BLE001
            tap.ok(False, f"{name}: ran to its end", error if isinstance(error, Failed)
                   else traceback.format_exc())
        for process in list(running):
            if process.poll() is None:
                process.kill()
                process.wait()
            running.remove(process)
        tap.note(f"{name}: {time.monotonic() - began:.1f} s")
    tap.done()


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
