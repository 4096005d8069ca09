#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per packet, and where they go, from the dumps that a benchmark makes under callgrind.

Usage: callgrind.py DUMP... [--variant NAME]

A benchmark dumps each variant twice, for n and for 2 n packets; what is reported is the difference,
divided by n: set-up cancels. Instructions are attributed to the function of the *source* that they
come from, also when the compiler has inlined it, by the line numbers; a function is then counted to
the stage of the data path that it belongs to.
"""
import os
import re
import sys
from collections import defaultdict

# Stage of a function of the source: the first entry that fits decides. A file alone: all of it.
STAGES = [
    ("port", ["testport.c", "testport_feed.c", "rte_ethdev.h"]),
    ("sums", ["wire.c:wire_sum", "wire.c:load_tail", "wire.h:wire_load64", "wire.h:wire_fold",
              "wire.h:wire_wide_add", "wire.h:wire_wide_ok", "wire.h:wire_wide_sum",
              "wire.h:wire_udp_sum_ok", "wire.h:wire_ip4_sum_ok", "wire.h:wire_pseudo4",
              "mbuf.h:weir_mbuf_sum", "rx.c:udp_csum_ok"]),
    ("parse", ["wire.c", "wire.h"]),
    ("deliver", ["rx.c:deliver", "rx.c:deliver_to", "rx.c:chain_of", "recvq.c:weir_recvq_produce",
                 "recvq.c:make_runs", "recvq.c:make_host", "recvq.c:may_host",
                 "recvq.c:surely_full"]),
    ("classify", ["rx.c", "local.h", "mbuf.h:weir_dgram_make_plain"]),
    ("lookup", ["socktab.c"]),
    ("read", ["recvq.c", "recvq.h", "mbuf.h:weir_dgram_look", "mbuf.h:weir_dgram_payload",
              "event.h", "sockiov.h"]),
    ("turn", ["poll.c", "clock.c", "mesh.c", "rte_rcu_qsbr.h"]),
    ("route", ["route.c", "route.h", "neigh.h", "neigh.c"]),
    ("header", ["tx.c:write_headers", "tx.c:header_room"]),
    ("batch", ["batch.c", "batch.h"]),
    ("send", ["tx.c", "sockio.c:weir_send", "sockio.c:send_some", "sockio.c:weir_send_burst",
              "sockio.c:count_sent"]),
    ("read", ["sockio.c"]),
    ("buffers", ["rte_mempool.h", "rte_mbuf.h", "rte_mbuf_core.h", "rte_mbuf.c", "rte_ring.h",
                 "rte_ring_core.h", "rte_ring_elem.h", "rte_ring_elem_pvt.h", "rte_ring_c11_pvt.h",
                 "rte_ring_generic_pvt.h", "rte_mempool_ring.c", "drop.c", "mbuf.h", "mbuf.c",
                 "rte_pktmbuf_free_bulk", "common_ring_mp_enqueue", "common_ring_mc_dequeue"]),
    ("application", ["bench_rx.c", "bench_tx.c", "bench_parts.c", "bench_many.c", "harness.h",
                     "rig.h"]),
]
# Small inline functions of these count to the function that they were inlined into.
PARTS_OF_CALLER = {"lcore.h", "rte_prefetch.h", "rte_branch_prediction.h", "rte_common.h",
                   "emmintrin.h", "tmmintrin.h", "smmintrin.h", "rte_cycles.h", "rte_pause.h",
                   "rte_byteorder.h", "rte_memcpy.h"}
LABEL = re.compile(r"bench\|([^|]*)\|([^|]*)\|(\d+)")
NAME = re.compile(r"^(\w+)\(")
OPEN = re.compile(r"^\{")


def stage_of(where):
    if " in " in where:
        where = where.split(" in ")[1]
    file = where.split(":")[0]
    for stage, members in STAGES:
        if where in members or file in members:
            return stage
    return "C library" if re.match(r"(mem|str)|\?\?\?", where) else "other"


class Source:
    """Which function of a file a line belongs to, in the style that ours and DPDK's sources have."""

    def __init__(self):
        self.files = {}

    def function(self, path, line):
        if path not in self.files:
            self.files[path] = self.read(path)
        names = self.files[path]
        return names[line] if line < len(names) else None

    @staticmethod
    def read(path):
        names = [None]
        name = None
        inside = None
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for text in file:
                    if match := NAME.match(text):
                        name = match[1]
                    if OPEN.match(text):
                        inside = name
                    names.append(inside or name)
                    if text.startswith("}"):
                        inside = name = None
        except OSError:
            pass
        return names


def read_dump(path, source):
    """(experiment, variant, n, {file:function: instructions}) of one dump, or None."""
    label = None
    names = {}
    file = inline = fn = None
    after_call = False
    line = 0
    cost = defaultdict(int)

    def named(kind, text):
        match = re.match(r"\((\d+)\)(?: (.*))?$", text)
        if match is None:
            return text
        if match[2] is not None:
            names[kind, match[1]] = match[2]
        return names.get((kind, match[1]), "???")

    with open(path, encoding="utf-8", errors="replace") as dump:
        for text in dump:
            text = text.rstrip("\n")
            if text.startswith("desc: Trigger") and (match := LABEL.search(text)):
                label = match[1], match[2], int(match[3])
            key, eq, value = text.partition("=")
            if eq and key in ("fl", "fi", "fe"):
                inline = named("file", value)
                if key == "fl":
                    file = inline
            elif eq and key == "fn":
                fn = named("fn", value)
                inline = file
            elif eq and key in ("cfi", "cfl"):
                named("file", value)
            elif eq and key == "cfn":
                named("fn", value)
            elif eq and key in ("ob", "cob"):
                pass
            elif eq and key == "calls":
                after_call = True
            elif text[:1] in "0123456789+-*" and text:
                fields = text.split()
                if fields[0] == "*":
                    pass
                elif fields[0][0] in "+-":
                    line += int(fields[0])
                else:
                    line = int(fields[0])
                if not after_call and len(fields) > 1:
                    name = source.function(inline, line) or fn
                    base = os.path.basename(inline)
                    where = name if base == "???" else f"{base}:{name}"
                    if base in PARTS_OF_CALLER:
                        where += f" in {os.path.basename(file)}:{fn}"
                    cost[where] += int(fields[1])
                after_call = False
    return (*label, cost) if label else None


def read_dumps(paths):
    """{(experiment, variant): {file:function: instructions per packet}}"""
    source = Source()
    runs = defaultdict(dict)
    for path in paths:
        if dump := read_dump(path, source):
            experiment, variant, n, cost = dump
            runs[experiment, variant][n] = cost
    result = {}
    for key, by_n in runs.items():
        if len(by_n) != 2:
            continue
        small, large = sorted(by_n)
        result[key] = {
            where: (by_n[large][where] - by_n[small].get(where, 0)) / (large - small)
            for where in by_n[large]
        }
    return result


def stages(cost):
    total = defaultdict(float)
    for where, instructions in cost.items():
        total[stage_of(where)] += instructions
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def print_breakdown(experiment, variant, cost, functions=True):
    total = sum(cost.values())
    print(f"{experiment} {variant}: {total:.1f} instructions per packet")
    for stage, instructions in stages(cost).items():
        if instructions < 0.5:
            continue
        print(f"  {stage:<14}{instructions:8.1f} {100 * instructions / total:5.1f} %")
        if not functions:
            continue
        for where, own in sorted(cost.items(), key=lambda item: -item[1]):
            if stage_of(where) == stage and own >= 0.5:
                print(f"      {where:<42}{own:8.1f}")


def main():
    args = sys.argv[1:]
    only = None
    if "--variant" in args:
        at = args.index("--variant")
        only = args[at + 1]
        del args[at:at + 2]
    if not args:
        print(__doc__.strip())
        return 2
    for (experiment, variant), cost in read_dumps(args).items():
        if only is None or variant == only:
            print_breakdown(experiment, variant, cost)
    return 0


if __name__ == "__main__":
    sys.exit(main())
