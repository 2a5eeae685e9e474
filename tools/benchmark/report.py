# SPDX-License-Identifier: Apache-2.0
"""What a run found: by row, by class, against an earlier run, as a table."""
import math

SLOWER = 1.05


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio(times):
    """Best peer / Backplane, or None where there is no peer or no result."""
    peers = [t["best"] for name, t in times.items() if not name.startswith("bp")]
    return min(peers) / times["bp"]["best"] if peers and "bp" in times else None


def by_class(rows):
    """{class: {"mean", "worst", "rows"}} of the rows that have a ratio."""
    groups = {}
    for row in rows.values():
        if row["ratio"]:
            groups.setdefault(row["class"], []).append(row["ratio"])
    return {name: {"mean": mean(all), "worst": min(all), "rows": len(all)}
            for name, all in groups.items()}


def row_line(name, row):
    cells = "  ".join(f"{peer} {times['best'] * 1e3:.4f}" for peer, times in row["times"].items())
    shown = f"{row['ratio']:.2f}" if row["ratio"] else "-"
    notes = [f"{peer}: {error[:80]}" for peer, error in row["errors"].items()]
    notes += [f"WRONG: {row['wrong']}"] if row["wrong"] else []
    return f"{name:20} {row['what'][:44]:44} {shown:>6}  ms: {cells}" + "".join(
        f"\n{'':22}{note}" for note in notes)


def class_lines(rows):
    groups = by_class(rows)
    yield f"{'class':20} {'rows':>4} {'mean':>6} {'worst':>6}"
    for name, group in sorted(groups.items(), key=lambda item: item[1]["mean"]):
        yield f"{name:20} {group['rows']:4} {group['mean']:6.2f} {group['worst']:6.2f}"
    ratios = [row["ratio"] for row in rows.values() if row["ratio"]]
    if ratios:
        yield f"{'all rows':20} {len(ratios):4} {mean(ratios):6.2f} {min(ratios):6.2f}"


def slower(rows, old):
    """Lines for the rows that lost more than 5 % on the best peer, or in time where a
    run has no peers. A row of another seed that has the name of one here is left out."""
    for name, row in rows.items():
        before = old.get(name)
        if not before or before["what"] != row["what"] or "bp" not in row["times"]:
            continue
        if "bp" not in before["times"]:
            continue
        if row["ratio"] and before["ratio"]:
            factor, unit = before["ratio"] / row["ratio"], "against the best peer"
        else:
            factor, unit = row["times"]["bp"]["best"] / before["times"]["bp"]["best"], "in time"
        if factor > SLOWER:
            yield f"{name} ({row['what']}): {(factor - 1) * 100:.0f} % slower {unit}"


def table(runs):
    """The table of stored runs in Markdown: a line for each class, columns by threads."""
    groups = [by_class(run["rows"]) for run in runs]
    names = sorted({name for group in groups for name in group})
    lines = ["| class | rows | " + " | ".join(
        f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}, mean | worst"
        for run in runs) + " |",
        "|---|---|" + "---|---|" * len(runs)]
    for name in names:
        count = max(group[name]["rows"] for group in groups if name in group)
        cells = [f"{group[name]['mean']:.2f} | {group[name]['worst']:.2f}"
                 if name in group else " | " for group in groups]
        lines.append(f"| {name} | {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
