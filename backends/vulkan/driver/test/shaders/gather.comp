// SPDX-License-Identifier: Apache-2.0
// c[i] = a[b[i]]; an index outside of the constant's range gives 0 and sets the
// error word to the code of kernel.h and the op in the second constant.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(set = 0, binding = 3) buffer Error { uint error; };
layout(push_constant) uniform Constants { uint count; uint op; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= count)
    return;
  bool inside = b[i] < count;
  if (!inside)
    atomicCompSwap(error, 0, 1u << 24 | op);
  c[i] = inside ? a[b[i]] : 0.0;
}
