// SPDX-License-Identifier: Apache-2.0
// Turns each block of 64 words around, by way of scratch.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 2) buffer Scratch { uint scratch[]; };
void main() {
  uint block = gl_WorkGroupID.x * 64, i = gl_LocalInvocationID.x;
  scratch[block + i] = a[block + i];
  memoryBarrierBuffer();
  barrier();
  a[block + i] = scratch[block + 63 - i];
}
