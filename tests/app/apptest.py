# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the applications share: TAP, processes that cannot outlive the test, wires.

A test script is called with the paths of udp_sink, udpflood and the folder of example
configurations. It never sleeps to wait: it waits for output or for an end, with a deadline.
"""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SINK, FLOOD, CONFIG = (os.path.abspath(p) for p in sys.argv[1:4])
DEADLINE_S = 60
RUN_EAL = ["--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level", "*:error"]

scratch = tempfile.mkdtemp(prefix="weir-app.")
running = []


def clean_up():
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(scratch, ignore_errors=True)


atexit.register(clean_up)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a time-out of the runner


class Tap:
    """One line per check; done() prints the plan and ends the script."""

    def __init__(self):
        self.n = 0
        self.bad = 0

    def ok(self, cond, name, *details):
        self.n += 1
        print(f"{'ok' if cond else 'not ok'} {self.n} - {name}", flush=True)
        if not cond:
            self.bad += 1
            for detail in details:
                for line in str(detail).splitlines() or [""]:
                    print(f"# {line}", flush=True)
        return bool(cond)

    def eq(self, got, want, name, *details):
        return self.ok(got == want, name, f"got {got!r}, want {want!r}", *details)

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def note(self, text):
        print(f"# {text}", flush=True)

    def done(self):
        print(f"1..{self.n}", flush=True)
        sys.exit(1 if self.bad else 0)


class Process(subprocess.Popen):
    """A program with its two outputs gathered as they come."""

    def __init__(self, args, **more):
        more.setdefault("stdout", subprocess.PIPE)
        super().__init__(args, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                         errors="replace", **more)
        running.append(self)
        self.out_text, self.err_text = [], []
        self.threads = []
        for stream, text in ((self.stdout, self.out_text), (self.stderr, self.err_text)):
            if stream is not None:
                thread = threading.Thread(target=self.gather, args=(stream, text), daemon=True)
                thread.start()
                self.threads.append(thread)

    @staticmethod
    def gather(stream, text):
        for line in stream:
            text.append(line)

    @property
    def out(self):
        return "".join(self.out_text)

    @property
    def err(self):
        return "".join(self.err_text)

    def until(self, pattern, deadline_s=DEADLINE_S):
        """True once either output matches; False when the program ends or time is up first."""
        end = time.monotonic() + deadline_s
        while time.monotonic() < end:
            if re.search(pattern, self.out + self.err):
                return True
            if self.poll() is not None:
                for thread in self.threads:
                    thread.join()
                return re.search(pattern, self.out + self.err) is not None
            time.sleep(0.01)
        return False

    def end(self, deadline_s=DEADLINE_S):
        """Exit code; "timeout" when it had to be killed."""
        try:
            code = self.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            code = "timeout"
        for thread in self.threads:
            thread.join()
        return code

    def report(self):
        """The JSON object that a program run with --json leaves on stdout."""
        return json.loads(self.out)

    def show(self):
        return f"{' '.join(self.args)}\nstdout:\n{self.out}\nstderr:\n{self.err}"


def cpus():
    return sorted(os.sched_getaffinity(0))


def eal(side, workers=1, memory=512):
    """EAL options of one side: 0 or 1; one lcore, or a main one and workers."""
    mine = cpus()
    at = [mine[(side + i) % len(mine)] for i in range(workers)]
    if workers == 1:
        lcores = f"0@{at[0]}"
    else:
        lcores = f"0@{at[0]}," + ",".join(f"{i + 1}@{cpu}" for i, cpu in enumerate(at))
    return ["--lcores", lcores, "-m", str(memory), *RUN_EAL,
            "--file-prefix", f"weirapp{os.getpid()}s{side}"]


class Wire:
    """A memif wire: the sink is the server, the flood the client."""

    count = 0

    def __init__(self, rsize=14):
        Wire.count += 1
        self.path = os.path.join(scratch, f"wire{Wire.count}")
        self.rsize = rsize

    def vdev(self, role):
        return ["--vdev", f"net_memif0,role={role},id=0,socket-abstract=no,"
                f"socket={self.path},rsize={self.rsize}"]

    def sink(self, *options, workers=1, before=(), **more):
        process = Process([*before, SINK, *eal(0, workers), *self.vdev("server"), "--",
                           "--addr", "10.66.0.1/24", *options], **more)
        process.until("listening on")
        return process

    def flood(self, *options, to="10.66.0.1", workers=1, **more):
        return Process([FLOOD, *eal(1, workers), *self.vdev("client"), "--",
                        "--addr", "10.66.0.2/24", *options, to], **more)


def total_drops(report):
    return sum(report["stats"]["drops"].values())
