// SPDX-License-Identifier: Apache-2.0
//
// Tags.h: the closed list of tags. A tag names one kind of fault; the units
// that carry it are those that find the fault. The mutants of the suite
// (conformance/mutants), broken on purpose, are looked for in the units of
// their tags first.
#ifndef BACKPLANE_CONFORMANCE_CASES_TAGS_H
#define BACKPLANE_CONFORMANCE_CASES_TAGS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace backplane::conformance {

struct Tag {
  std::string_view name;
  /// The fault, in the words of the list of mutants.
  std::string_view fault;
  /// Numbers of the mutants, 0 where there are fewer.
  std::array<uint16_t, 3> mutants;
};

/// Mutants 52 to 55 break the comparator; conformance/compare/SelfCheck.h finds
/// them without a device.
inline constexpr Tag allTags[] = {
    // Which element is read or written.
    {"index", "another element is read than should be", {1, 6, 7}},
    {"stride", "strides are transposed where the shape is square", {1}},
    {"tail", "the elements after the last whole tile are not written", {2}},
    {"last-k", "the last term of a sum is left out", {3}},
    {"k-boundary", "the term at the boundary of two blocks counts twice", {4}},
    {"broadcast", "an axis of size 1 is not repeated", {5}},
    {"negative-index", "a negative index or step is not wrapped", {6}},
    {"error-word", "an index out of range is not reported", {6, 45}},
    {"large", "an offset overflows 32 bits", {7}},
    {"zero-size", "a tensor without elements is written to", {8}},
    {"kernel-flip", "the window of a convolution is flipped", {9}},
    {"dilation", "dilations are ignored", {10}},
    {"pads", "padding before and after an axis is swapped", {11}},
    {"groups", "groups of channels are off", {12}},
    {"size", "results are wrong from some size on", {180, 182, 194}},
    {"drawn", "results are wrong for some attributes", {300, 319, 340}},

    // How numbers are computed.
    {"accumulate", "sums run in f16 instead of f32", {13}},
    {"demotion", "operands are rounded to TF32 without a declaration", {14}},
    {"cast-rounding", "a cast rounds to zero or rounds twice", {15, 16, 17}},
    {"f8-overflow",
     "a float of at most 8 bits overflows to another value",
     {18}},
    {"f8-format", "formats of floats of at most 8 bits are mixed up", {19}},
    {"ftz", "subnormals are flushed without a declaration", {20}},
    {"reciprocal", "a quotient is a product with a reciprocal", {21}},
    {"log1p", "log1p(x) is log(1 + x)", {22}},
    {"range-reduction", "large angles are not reduced", {23}},
    {"softmax-max", "softmax does not subtract the maximum", {24}},
    {"variance", "the variance is computed in one pass", {25}},
    {"gelu", "gelu by erf is computed by tanh", {26}},
    {"precision", "a composite rounds on the way", {130, 131, 132}},
    {"narrow-sum", "a sum or product is rounded at each step", {133, 134, 135}},
    {"bias", "all results are a few units off in one direction", {27}},
    // What values mean.
    {"nan", "NaN is lost in max or relu", {28}},
    {"reach", "NaN spreads through products with zeros", {136, 137, 138}},
    {"negative-zero", "the sign of zero is lost", {29}},
    {"ties", "the last of equal elements wins", {30}},
    {"integer-sign", "signed and unsigned integers are mixed up", {31}},
    {"nibbles", "the high nibble comes first", {32}},
    {"wrap", "integers saturate where they should wrap", {33}},
    {"half-away", "requantizing rounds half away from zero", {34}},
    {"zero-point", "padding is 0 instead of the zero point", {35}},
    // What a compiler does to a graph.
    {"clamp-bias", "clamping comes before the bias", {36}},
    {"residual", "the residual of a fused chain is dropped", {37}},
    {"in-place", "a live operand is overwritten", {38}},
    {"cse", "ops that differ in attributes are taken for equal", {39}},
    {"fold", "constants are folded in another dtype", {40}},
    // What a runtime does.
    {"fence", "a fence is signalled before the work is done", {41}},
    {"offset", "a copy ignores its offset", {42}},
    {"workspace", "a workspace keeps what an earlier run left", {43}},
    {"race", "a race shows in one run of hundreds", {44}},
    {"leak", "memory is lost when a call fails", {45}},
    {"oom", "a failed allocation crashes", {46}},
    {"struct-size", "a structure is written beyond its size", {47}},
    {"atomic", "colliding updates are lost", {48}},
    {"process", "the state of the host's process is changed", {270, 271, 273}},
    // What a cheat does.
    {"cache", "a result is remembered by shape", {49}},
    {"fallback", "the host computes what the device should", {50}},
    {"names", "names of tests decide what is computed", {51}},
    {"values", "some values of models are not computed with", {250}},
    {"state", "the process decides what is computed", {228}},
    {"application", "only processes of the suite get right results", {228}},
    {"later-runs", "later runs of an executable are wrong", {222}},
    {"many-runs", "results are wrong after many runs", {220, 221, 223}},
    {"overlap", "calls that overlap disturb each other", {225}},
    {"threads", "calls of several threads disturb each other", {225, 227}},
    {"sessions", "sessions of one artifact disturb each other", {226}},
    {"one-thread", "a pool without workers gives other results", {0}},
    {"seven-threads", "a pool of another size gives other results", {0}},
    {"little-memory", "results are wrong when memory is short", {237, 238}},
    {"surroundings", "folder, locale or environment decide", {234, 235, 236}},
    {"uptime", "results are wrong in old processes", {224}},
};

/// Whether a unit may carry this tag.
constexpr bool isTag(std::string_view name) {
  return std::any_of(std::begin(allTags), std::end(allTags),
                     [&](const Tag &tag) { return tag.name == name; });
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_TAGS_H
