// SPDX-License-Identifier: Apache-2.0
//
// TargetProperties.h: what passes know of the target that a module is compiled
// for: the attribute `bp.target`, a dictionary with the keys of
// docs/reference/properties.md. `compileDispatch` sets it from what the target
// declares. Without it nothing is known, and a pass takes its defaults.
#ifndef BACKPLANE_EMIT_COMMON_TARGETPROPERTIES_H
#define BACKPLANE_EMIT_COMMON_TARGETPROPERTIES_H

#include "sdk/support/Property.h"

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// States the properties on the module.
void setTargetProperties(mlir::ModuleOp module,
                         llvm::ArrayRef<Property> properties);

class TargetProperties {
public:
  explicit TargetProperties(mlir::ModuleOp module);

  /// Sets `out` to the number of this key where it is stated. A value of
  /// another kind is a diagnostic at the module.
  mlir::LogicalResult read(llvm::StringRef key, int64_t &out) const;
  mlir::LogicalResult read(llvm::StringRef key,
                           llvm::SmallVectorImpl<int64_t> &out) const;

private:
  template <typename A>
  mlir::FailureOr<A> get(llvm::StringRef key, llvm::StringRef kind) const;

  mlir::ModuleOp module_;
  mlir::DictionaryAttr stated_; ///< null: nothing is
};

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_TARGETPROPERTIES_H
