// SPDX-License-Identifier: Apache-2.0
//
// Describe.h: ops as people see them.
#ifndef BACKPLANE_DIALECT_DESCRIBE_H
#define BACKPLANE_DIALECT_DESCRIBE_H

#include "sdk/dialect/Convert.h"

namespace bp {

/// "conv (Conv node /enc/conv1)", or "conv".
inline std::string describe(mlir::Operation *op) {
  std::string text = op->getName().stripDialect().str();
  std::string location = locationText(op->getLoc());
  return location.empty() ? text : text + " (" + location + ")";
}

} // namespace bp

#endif // BACKPLANE_DIALECT_DESCRIBE_H
