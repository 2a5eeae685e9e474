// SPDX-License-Identifier: Apache-2.0
// a[i] = i * factor + summand in 64 bits for i below a constant.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer A { int64_t a[]; };
layout(push_constant) uniform Constants {
  uint count;
  int64_t factor, summand;
};
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < count)
    a[i] = int64_t(i) * factor + summand;
}
