// SPDX-License-Identifier: Apache-2.0
// Doubles halves: needs 16-bit floats and 16-bit storage.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { float16_t a[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  a[i] = a[i] + a[i];
}
