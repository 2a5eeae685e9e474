// SPDX-License-Identifier: Apache-2.0
//
// attention.comp: softmax(q k^T) v of one head in one pass over the keys. An
// invocation has a row of q, its D numbers in registers; a work-group brings
// keys and values to shared memory, some at a time.
#version 450
#extension GL_EXT_control_flow_attributes : require

// D, the size of a row, is given when it is compiled: 32 or 64.
#define ROWS 64
#define PARTS (D / 4)
#define KEYS (2048 / D) // 16 KiB with the values
#define BLOCK 8         // scores that are kept before they are added up

layout(local_size_x = ROWS) in;

layout(std430, set = 0, binding = 0) readonly buffer Q { vec4 q[]; };
layout(std430, set = 0, binding = 1) readonly buffer K { vec4 k[]; };
layout(std430, set = 0, binding = 2) readonly buffer V { vec4 v[]; };
layout(std430, set = 0, binding = 3) readonly buffer S { float scale[]; };
layout(std430, set = 0, binding = 4) writeonly buffer O { vec4 o[]; };
// Behind the bindings of the text comes the error word.
layout(std430, set = 0, binding = 5) buffer Error { uint error; };

// Turns that the loops of an invocation may have on this device.
layout(constant_id = 0) const float turns = 4294967040.0;

// Parameters have 64 bits, of which the lower ones are enough.
layout(push_constant) uniform Parameters {
  uvec2 heads;     // b * h
  uvec2 m;         // rows of q
  uvec2 n;         // keys
  uvec2 has_scale; // 0: binding 3 is not to be read
};

shared vec4 keys[KEYS * PARTS];
shared vec4 values[KEYS * PARTS];

// Some rows of a head.
void attend(uint head, uint row) {
  const uint count = n.x;
  // Rows behind the last one compute it again, and write nothing.
  const uint start = (head * m.x + min(row, m.x - 1)) * PARTS;
  const float factor = has_scale.x != 0 ? scale[0] : 1.0;

  vec4 query[PARTS];
  vec4 sums[PARTS];
  [[unroll]] for (int i = 0; i < PARTS; ++i) {
    query[i] = q[start + i];
    sums[i] = vec4(0.0);
  }
  // The lowest number, not -infinity: a row of scores that are all -infinity
  // has no total, and then no result.
  float greatest = -3.402823466e38;
  float total = 0.0;

  for (uint first = 0; first < count; first += KEYS) {
    const uint held = min(KEYS, count - first);
    const uint from = (head * count + first) * PARTS;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < held * PARTS; i += ROWS) {
      keys[i] = k[from + i];
      values[i] = v[from + i];
    }
    barrier();
    for (uint key = 0; key < held; key += BLOCK) {
      float scores[BLOCK];
      float highest = greatest;
      [[unroll]] for (int j = 0; j < BLOCK; ++j) {
        const uint at = min(key + j, held - 1) * PARTS;
        vec4 products = vec4(0.0);
        [[unroll]] for (int i = 0; i < PARTS; ++i)
          products += query[i] * keys[at + i];
        scores[j] = (products.x + products.y + products.z + products.w) * factor;
        highest = max(highest, scores[j]);
      }
      const float earlier = exp(greatest - highest);
      greatest = highest;
      total *= earlier;
      [[unroll]] for (int i = 0; i < PARTS; ++i)
        sums[i] *= earlier;
      [[unroll]] for (int j = 0; j < BLOCK; ++j) {
        if (key + j < held) {
          const float weight = exp(scores[j] - greatest);
          const uint at = (key + j) * PARTS;
          total += weight;
          [[unroll]] for (int i = 0; i < PARTS; ++i)
            sums[i] += weight * values[at + i];
        }
      }
    }
  }
  if (row < m.x)
    [[unroll]] for (int i = 0; i < PARTS; ++i)
      o[start + i] = count == 0 ? vec4(0.0) : sums[i] / total;
}

// A grid has at most 65,535 work-groups along an axis.
void main() {
  const uint groups = (m.x + ROWS - 1) / ROWS;
  const uint each = (groups + gl_NumWorkGroups.x - 1) / gl_NumWorkGroups.x *
                    ((heads.x + gl_NumWorkGroups.y - 1) / gl_NumWorkGroups.y);
  const float needed = float(each) * (float(n.x) * (0.5 + 1.0 / BLOCK) + 8.0);
  if (needed > turns) {
    atomicCompSwap(error, 0u, 3u << 24); // BP_KERNEL_ERROR_ITERATIONS
    return;
  }
  for (uint head = gl_WorkGroupID.y; head < heads.x; head += gl_NumWorkGroups.y)
    for (uint group = gl_WorkGroupID.x; group < groups;
         group += gl_NumWorkGroups.x)
      attend(head, group * ROWS + gl_LocalInvocationID.x);
}
