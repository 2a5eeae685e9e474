// SPDX-License-Identifier: Apache-2.0
//
// OnnxOps.h: the table of ONNX ops that can be imported, which gen_onnx.py
// makes from onnx_ops.toml and the schemas of the `onnx` package.
#ifndef BACKPLANE_IMPORT_ONNXOPS_H
#define BACKPLANE_IMPORT_ONNXOPS_H

#include <cstdint>
#include <span>
#include <string_view>

namespace backplane::frontend {

class Node;

/// Opsets of ai.onnx whose semantics the handlers know.
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 28;

struct OnnxOp {
  std::string_view name;
  /// First and last opset in which the op has the meaning that is imported.
  int since, until;
  int minInputs, maxInputs; ///< -1: any number
  int maxOutputs;           ///< -1: any number
  void (*handler)(Node &);
  /// Op of the graph for handlers that serve several ops.
  std::string_view target;
  /// Allowed attributes, "name name@13 name@7-12": with a first, or with a
  /// first and a last opset.
  std::string_view attributes;
};

/// All ops, by name.
std::span<const OnnxOp> onnxOps();
const OnnxOp *findOnnxOp(std::string_view name);
/// Whether the op has this attribute in this opset.
bool allowsAttribute(const OnnxOp &op, std::string_view attribute,
                     int64_t opset);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXOPS_H
