#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a model on numpy arrays, which go in and come out by DLPack, uncopied.

    run.py LIBRARY MODEL     LIBRARY is libbackplane.so

Inputs are drawn; symbolic sizes are 3. Written with ctypes over backplane.h and
value.h, as a binding for any language would be.
"""
import ctypes as c
import sys

import numpy


class String(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_uint64)]

    @classmethod
    def of(cls, text):
        return cls(text.encode(), len(text.encode()))


class Header(c.Structure):
    _fields_ = [("type", c.c_uint32), ("size", c.c_uint32), ("next", c.c_void_p)]


class TensorInfo(c.Structure):
    _fields_ = [("header", Header), ("name", String), ("dtype", c.c_uint32), ("rank", c.c_uint32),
                ("dims", c.POINTER(c.c_int64)), ("dim_texts", c.c_void_p)]


class Value(c.Structure):
    _fields_ = [("header", Header), ("kind", c.c_uint32), ("flags", c.c_uint32),
                ("dtype", c.c_uint32), ("rank", c.c_uint32), ("dims", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64),
                ("data", c.c_void_p), ("buffer", c.c_void_p), ("ready", c.c_void_p),
                ("ready_value", c.c_uint64), ("release", c.CFUNCTYPE(None, c.c_void_p)),
                ("context", c.c_void_p), ("items", c.c_void_p), ("item_count", c.c_uint64)]


TENSOR, DONATED, ON_HOST = 1, 1, 4
VALUE_TYPE, INFO_TYPE = 135, 131
DTYPES = {1: "f8", 2: "f4", 3: "f2", 7: "i8", 8: "i4", 9: "i2", 10: "i1", 12: "u8", 13: "u4",
          14: "u2", 15: "u1", 17: "?"}
CAPSULE, USED = b"dltensor_versioned", b"used_dltensor_versioned"
PY = c.pythonapi
PY.PyCapsule_New.restype = c.py_object
PY.PyCapsule_New.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]
PY.PyCapsule_GetPointer.restype = c.c_void_p
PY.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
PY.PyCapsule_SetName.argtypes = [c.py_object, c.c_char_p]


class Produced:
    """A tensor of DLPack that nobody has taken yet, as from_dlpack asks for it."""

    def __init__(self, pointer):
        self.capsule = PY.PyCapsule_New(pointer, CAPSULE, None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


class Library:
    """The functions of the library; a failure is an exception with its text."""

    def __init__(self, path):
        self.lib = c.CDLL(path)
        self.lib.bp_error_create.restype = c.c_void_p
        self.lib.bp_error_message.restype = String
        self.error = c.c_void_p(self.lib.bp_error_create())

    def __call__(self, function, *arguments):
        if getattr(self.lib, function)(*arguments, self.error):
            text = self.lib.bp_error_message(self.error)
            sys.exit(f"{function}: {c.string_at(text.data, text.size).decode()}")

    def make(self, function, *arguments):
        out = c.c_void_p()
        self(function, *arguments, c.byref(out))
        return out


def empty(kind=0, flags=0):
    return Value(Header(VALUE_TYPE, c.sizeof(Value), None), kind, flags)


def value_of(library, array):
    """The array as a value over the same memory."""
    capsule = array.__dlpack__(max_version=(1, 0))
    value = empty()
    library("bp_value_from_dlpack", c.c_void_p(PY.PyCapsule_GetPointer(capsule, CAPSULE)),
            c.byref(value))
    PY.PyCapsule_SetName(capsule, USED)  # the value owns it now
    value.flags |= DONATED
    return value


def array_of(library, value):
    """The reverse."""
    return numpy.from_dlpack(Produced(library.make("bp_value_to_dlpack", c.byref(value))))


def inputs_of(library, artifact):
    random = numpy.random.default_rng(1)
    for index in range(library.lib.bp_artifact_input_count(artifact)):
        info = TensorInfo(Header(INFO_TYPE, c.sizeof(TensorInfo), None))
        library.lib.bp_artifact_input(artifact, index, c.byref(info))
        dims = [3 if size < 0 else size for size in info.dims[:info.rank]]
        # Columns first: the runtime is told the strides.
        yield numpy.asfortranarray(random.standard_normal(dims).astype(DTYPES[info.dtype]))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library = Library(sys.argv[1])
    context = library.make("bp_context_create", None)
    artifact = library.make("bp_artifact_compile", context, String.of(sys.argv[2]), None)
    session = library.make("bp_session_create", artifact, None)
    arrays = list(inputs_of(library, artifact))
    inputs = [value_of(library, array) for array in arrays]
    for array, value in zip(arrays, inputs):
        assert value.data + value.byte_offset == array.ctypes.data, "copied"
    outputs = [empty(TENSOR, ON_HOST)
               for _ in range(library.lib.bp_artifact_output_count(artifact))]
    pointers = [(c.POINTER(Value) * len(group))(*map(c.pointer, group))
                for group in (inputs, outputs)]
    library("bp_session_run_values", session, pointers[0], len(inputs), pointers[1],
            len(outputs))
    for value in outputs:
        where = value.data
        result = array_of(library, value)
        assert result.ctypes.data == where, "copied"
        print(f"{result.dtype}{list(result.shape)}, uncopied: {result.ravel()[:6]}")


if __name__ == "__main__":
    main()
