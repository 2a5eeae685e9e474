// SPDX-License-Identifier: Apache-2.0
// The size of work-groups as a constant, too.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer Out { uint y[]; };
void main() {
  y[gl_GlobalInvocationID.x] = gl_WorkGroupSize.x;
}
