# SPDX-License-Identifier: Apache-2.0
"""The rows of the benchmark. A class is a function that yields rows: what it is and
what makes its model, which gives the names of the outputs. Shapes are drawn."""
import dataclasses
import random
import re
import types
import typing

import model
import rows_conv
import rows_dense
import rows_edge
import rows_move
import rows_small


class Draw:
    """What a class takes from the tables, by a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def take(self, table, count):
        return self.random.sample(table, min(count, len(table)))

    def one(self, table):
        return self.random.choice(table)

    def near(self, size, low=0.75, high=1.3):
        """A size like this one, even where it is not small."""
        drawn = max(1, round(size * self.random.uniform(low, high)))
        return drawn if size < 16 else drawn // 2 * 2


@dataclasses.dataclass
class Row:
    group: str
    number: int
    what: str
    build: typing.Callable
    seed: int

    @property
    def name(self):
        return f"{self.group}-{self.number}"

    def make(self):
        """The ONNX model and the arrays that it is called with, by name."""
        made = model.Model(self.seed * 1000 + self.number)
        outputs = self.build(made)
        onnx = made.finish(*([outputs] if isinstance(outputs, str) else outputs))
        return onnx, {i.name: i.array(made.random) for i in made.inputs}


def bound(build):
    """The function with the variables around it as they are now: those of a class
    change from row to row."""
    cells = tuple(types.CellType(cell.cell_contents) for cell in build.__closure__ or ())
    return types.FunctionType(build.__code__, build.__globals__, build.__name__,
                              build.__defaults__, cells)


CLASSES = {**rows_dense.CLASSES, **rows_conv.CLASSES, **rows_edge.CLASSES, **rows_move.CLASSES,
           **rows_small.CLASSES}


def draw(seed, groups=None):
    """All rows of a seed, or those of some classes: each class draws for itself."""
    found = []
    for group, rows in CLASSES.items():
        if groups and group not in groups:
            continue
        for number, (what, build) in enumerate(rows(Draw(f"{seed} {group}"))):
            found.append(Row(group, number, what, bound(build), seed))
    return found


def select(seed, groups=None, pattern=""):
    """The rows of a seed whose name or description matches."""
    return [row for row in draw(seed, groups)
            if re.search(pattern, f"{row.name} {row.what}")]
