# SPDX-License-Identifier: Apache-2.0
"""The model of the suite of files, and how it is run."""
import numpy

import models

RUN = ["run", "m.onnx", "--input", "x=x.npy", "--expect", "y=want.npy"]


def prepare(suite):
    folder = suite.folder
    (folder / "m.onnx").write_bytes(models.good().SerializeToString())
    (folder / "other.onnx").write_bytes(models.long_chain(3).SerializeToString())
    x = numpy.random.default_rng(1).standard_normal((5, 4)).astype("f4")
    w, b = (models.numpy_helper.to_array(t) for t in models.good().graph.initializer)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "want.npy", numpy.maximum(x @ w + b, 0))
