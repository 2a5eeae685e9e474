# SPDX-License-Identifier: Apache-2.0
"""Values of ONNX node tests as .npy files."""
import numpy
import onnx
import onnx.numpy_helper

# Types that NumPy lacks, which are stored as the bits; elements of 4 bits take a
# byte each.
BITS = {"bfloat16": numpy.uint16, "float8_e4m3fn": numpy.uint8,
        "float8_e5m2": numpy.uint8, "float8_e4m3fnuz": numpy.uint8,
        "float8_e5m2fnuz": numpy.uint8, "float8_e8m0fnu": numpy.uint8,
        "float4_e2m1fn": numpy.uint8}
NIBBLES = {"int4": numpy.int8, "uint4": numpy.uint8}


def array(value):
    """A stored value as an array, or what it is when it is no tensor."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def is_storable(value):
    return isinstance(value, numpy.ndarray) and (
        value.dtype.name in BITS or value.dtype.name in NIBBLES
        or value.dtype.kind in "iubf")


def save(path, value):
    name = value.dtype.name
    flat = numpy.ascontiguousarray(value)
    if name in BITS:
        flat = flat.view(BITS[name])
    elif name in NIBBLES:
        flat = flat.astype(NIBBLES[name])
    numpy.save(path, flat.reshape(value.shape))
