// SPDX-License-Identifier: Apache-2.0
// Who is who in the subgroups of a work-group, and what the neighbour says.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer A { uint a[]; };
void main() {
  uint own = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  a[gl_WorkGroupID.x * 64 + own] = subgroupShuffleXor(own, 1) + 1;
}
