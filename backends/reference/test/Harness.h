// SPDX-License-Identifier: Apache-2.0
//
// Harness.h: runs single ops on the reference plug-in, loaded as any host loads
// it: query, initialize, compile, executable_load, queue_execute.
#ifndef BACKPLANE_REFERENCE_TEST_HARNESS_H
#define BACKPLANE_REFERENCE_TEST_HARNESS_H

#include "backplane/compiler.h"
#include "backplane/hal.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reftest {

using Dims = std::vector<int64_t>;

/// A dense tensor. Floats are read and written as double, rounded to the
/// dtype by a search among its values, which shares nothing with the plug-in.
struct Tensor {
  bp_dtype_t dtype = BP_DTYPE_INVALID;
  Dims dims;
  std::vector<uint8_t> bytes;

  Tensor() = default;
  Tensor(bp_dtype_t dtype, Dims dims); // zeros
  static Tensor floats(bp_dtype_t dtype, Dims dims,
                       const std::vector<double> &values);
  static Tensor ints(bp_dtype_t dtype, Dims dims,
                     const std::vector<int64_t> &values);
  int64_t count() const;
  double f(int64_t index) const;
  int64_t i(int64_t index) const;
  void setF(int64_t index, double value);
  void setI(int64_t index, int64_t value);
  bool operator==(const Tensor &) const = default;
};

int64_t product(const Dims &dims);
unsigned bitsOf(bp_dtype_t dtype);
/// Bytes of an element, for dtypes that are not packed.
unsigned sizeOf(bp_dtype_t dtype);
bool isFloat(bp_dtype_t dtype);
bool isUnsigned(bp_dtype_t dtype);
/// The value of `dtype` that is nearest, ties to even.
double rounded(bp_dtype_t dtype, long double value);
/// Wraps to the width of an integer dtype.
int64_t wrapped(bp_dtype_t dtype, int64_t value);
/// Distance in representable values, of equal ones 0 (NaN equals NaN).
double ulps(bp_dtype_t dtype, double a, double b);
int64_t lowest(bp_dtype_t dtype);
int64_t highest(bp_dtype_t dtype);

constexpr bp_dtype_t floatTypes[] = {BP_DTYPE_F64, BP_DTYPE_F32, BP_DTYPE_F16,
                                     BP_DTYPE_BF16};
constexpr bp_dtype_t intTypes[] = {BP_DTYPE_I64, BP_DTYPE_I32, BP_DTYPE_I16,
                                   BP_DTYPE_I8,  BP_DTYPE_U64, BP_DTYPE_U32,
                                   BP_DTYPE_U16, BP_DTYPE_U8};
constexpr bp_dtype_t allTypes[] = {
    BP_DTYPE_F64, BP_DTYPE_F32, BP_DTYPE_F16, BP_DTYPE_BF16, BP_DTYPE_I64,
    BP_DTYPE_I32, BP_DTYPE_I16, BP_DTYPE_I8,  BP_DTYPE_U64,  BP_DTYPE_U32,
    BP_DTYPE_U16, BP_DTYPE_U8,  BP_DTYPE_BOOL};
/// Those that are moved, compared, selected and cast only.
constexpr bp_dtype_t storedTypes[] = {BP_DTYPE_F8E4M3FN, BP_DTYPE_F8E5M2,
                                      BP_DTYPE_I4, BP_DTYPE_U4};

/// Random elements: small integers for integer dtypes, which sums keep exact.
Tensor randomTensor(bp_dtype_t dtype, Dims dims, unsigned seed);

/// Element indices of `dims` in row-major order.
bool next(const Dims &dims, Dims &index);
int64_t offset(const Dims &dims, const Dims &index);

/// Dims attribute: text forms.
struct DimTexts {
  std::vector<std::string> texts;
};
DimTexts dims(const Dims &values);
using Attribute =
    std::variant<int64_t, std::string, Dims, DimTexts, std::vector<uint8_t>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  std::string message;
  std::vector<Tensor> outputs;
};

/// A graph under construction, over the host's builder.
class Builder {
public:
  Builder();
  ~Builder();
  void symbol(const std::string &name, int64_t maximum);
  uint32_t input(bp_dtype_t dtype, const std::vector<std::string> &dims);
  uint32_t input(const Tensor &like);
  /// Adds an op; fails the test when it is refused.
  uint32_t op(const std::string &name, const std::vector<uint32_t> &operands,
              const Attributes &attributes = {});
  /// The same for an op of several results.
  std::vector<uint32_t> results(const std::string &name, uint32_t count,
                                const std::vector<uint32_t> &operands,
                                const Attributes &attributes);
  void output(uint32_t value);
  bp_graph_t *finish();

private:
  bp_graph_builder_t *builder_ = nullptr;
};

/// The plug-in, initialized. One at a time.
class Plugin {
public:
  Plugin();
  ~Plugin();
  Plugin(const Plugin &) = delete;
  const bp_plugin_info_t &info() const { return info_; }
  void *self() const { return self_; }
  bp_device_t *device() const { return device_; }
  /// Wire bytes and entry as `compile` gives them.
  Outcome compile(const bp_graph_t *graph, std::vector<uint8_t> &blob,
                  bp_entry_t &entry, std::vector<uint8_t> &access);
  /// Compiles, loads and runs a graph; closes it.
  Outcome run(bp_graph_t *graph, const std::vector<Tensor> &inputs,
              const std::vector<uint32_t> &symbols = {});

private:
  void *library_ = nullptr;
  bp_plugin_info_t info_ = {};
  void *self_ = nullptr;
  bp_device_t *device_ = nullptr;
};

/// A graph of one op over `inputs`.
Outcome runOp(const std::string &op, const std::vector<Tensor> &inputs,
              const Attributes &attributes = {});
/// The first output of runOp, which must succeed.
Tensor runOk(const std::string &op, const std::vector<Tensor> &inputs,
             const Attributes &attributes = {});

/// The host that the plug-in sees; counts allocations.
const bp_host_t &testHost();
int64_t liveAllocations();
const bp_graph_table_t &graphTable();
/// Text of the last failure.
std::string takeError();
bp_error_t *errorSlot();
bp_string_t text(std::string_view value); // which must live on

} // namespace reftest

#endif // BACKPLANE_REFERENCE_TEST_HARNESS_H
