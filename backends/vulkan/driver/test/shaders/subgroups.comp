// SPDX-License-Identifier: Apache-2.0
// How many subgroups a work-group of 64 has, and how large they are.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer A { uint a[]; };
void main() {
  a[0] = gl_NumSubgroups;
  a[1] = gl_SubgroupSize;
}
