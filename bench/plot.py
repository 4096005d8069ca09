#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the result of a benchmark as bars: the median of each variant, the range from its fastest to
its slowest sample, the ratio to its reference, and the instructions.

Usage: plot.py RESULT.json OUT.svg
"""
import html
import json
import sys

ROW, GAP, LEFT, WIDTH, RIGHT, TOP = 16, 10, 150, 420, 240, 56
COLOURS = {"4k": "#4878a8", "2m": "#d08b3c"}


def text(x, y, words, size=12, anchor="start", colour="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{html.escape(words)}</text>')


def step_of(top):
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if top / step <= 8:
            return step
    return top / 8


def draw(records, path):
    times, ratios, counts, order = {}, {}, {}, []
    for r in records:
        key = r["variant"], r.get("pages")
        if r["metric"] == "time":
            times[key] = r
            if r["variant"] not in order:
                order.append(r["variant"])
        elif r["metric"] == "ratio":
            ratios[key] = r
        elif r["metric"] == "instructions":
            counts[r["variant"]] = r["value"]
    if not order:
        raise ValueError("no times in this result")
    pages = [p for p in COLOURS if any(key[1] == p for key in times)]
    facts = {r["variant"]: r["value"] for r in records if r["experiment"] == "environment"}
    unit = next(iter(times.values()))["unit"]
    name = next(iter(times.values()))["experiment"]
    # One slow variant must not flatten the others: the scale ends at four times the median bar.
    middle = sorted(r["value"] for r in times.values())[len(times) // 2]
    top = min(max(r["value"] for r in times.values()), 4 * middle) * 1.1
    block = ROW * len(pages) + GAP
    height = TOP + block * len(order) + 40
    scale = WIDTH / top
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" '
           f'height="{height}" font-family="sans-serif">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(10, 20, f"{name}: {unit}, median; the line is the range of all samples", 14),
           text(10, 38, f"{facts.get('cpu', '')}, {facts.get('dpdk', '')}, "
                        f"{facts.get('compiler', '')} {facts.get('compiler flags', '')}", 11,
                colour="#666")]
    tick = step_of(top)
    at = 0.0
    while at <= top:
        x = LEFT + at * scale
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 34}" '
                   'stroke="#ddd"/>')
        out.append(text(x, height - 20, f"{at:g}", 11, "middle", "#666"))
        at += tick
    for i, variant in enumerate(order):
        y = TOP + i * block
        out.append(text(LEFT - 8, y + ROW * len(pages) / 2 + 4, variant, 12, "end"))
        for j, page in enumerate(pages):
            r = times.get((variant, page))
            if r is None:
                continue
            bar = y + j * ROW
            width = min(r["value"], top) * scale
            low, high = min(r["min"], top) * scale, min(r["max"], top) * scale
            out.append(f'<rect x="{LEFT}" y="{bar}" width="{width:.1f}" height="{ROW - 3}" '
                       f'fill="{COLOURS[page]}"/>')
            out.append(f'<line x1="{LEFT + low:.1f}" y1="{bar + 6.5}" x2="{LEFT + high:.1f}" '
                       f'y2="{bar + 6.5}" stroke="#222"/>')
            words = f'{r["value"]:.1f}'
            ratio = ratios.get((variant, page))
            if ratio is not None:
                words += f' = {ratio["value"]:.2f} x {ratio["reference"]}'
            if j == 0 and variant in counts:
                words += f', {counts[variant]:.0f} instr.'
            out.append(text(LEFT + min(max(width, high), WIDTH) + 6, bar + 11, words, 11))
    for j, page in enumerate(pages):
        x = LEFT + j * 110
        out.append(f'<rect x="{x}" y="{height - 14}" width="10" height="10" '
                   f'fill="{COLOURS[page]}"/>')
        out.append(text(x + 14, height - 5, {"4k": "4 KiB pages", "2m": "2 MiB pages"}[page], 11))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        draw(json.load(file), sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
