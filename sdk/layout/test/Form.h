// SPDX-License-Identifier: Apache-2.0
//
// Form.h: what tests of layouts look at, dispatches.
#ifndef BACKPLANE_LAYOUT_TEST_FORM_H
#define BACKPLANE_LAYOUT_TEST_FORM_H

#include "sdk/fusion/Fusion.h"
#include "sdk/layout/Layout.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <string>

/// Chooses layouts, and makes dispatches of what is there then.
inline bool formsDispatches(mlir::ModuleOp module,
                            const bp::LayoutOptions &layout,
                            backplane::WeightPool &pool) {
  bp::FusionOptions fusion;
  fusion.fusion = layout.fusion;
  return succeeded(bp::chooseLayouts(module, layout, pool)) &&
         succeeded(bp::formDispatches(module, fusion));
}

/// The weight that the one dispatch of a module of bytes reads, on a device
/// with these BP_FUSE_ bits too; it has the numbers 0, 1, … modulo 251 at
/// first. `text`: the module for a weight with an id.
template <typename Text>
backplane::Weight arrangedBytes(const backplane::Dims &dims, uint32_t bits,
                                Text text) {
  mlir::MLIRContext context;
  context.loadDialect<bp::BpDialect, mlir::func::FuncDialect>();
  backplane::WeightPool pool;
  size_t count = 1;
  for (const backplane::Dim &dim : dims)
    count *= size_t(*dim.constant());
  backplane::Bytes bytes(count);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i % 251);
  std::string id = *pool.add({backplane::DType::I8, dims}, std::move(bytes));
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text(id), &context);
  bp::LayoutOptions options;
  options.fusion = BP_FUSE_WEIGHTS | BP_FUSE_WIDENING | bits;
  EXPECT_TRUE(formsDispatches(*module, options, pool));
  unsigned calls = 0;
  module->walk([&](mlir::func::CallOp) { ++calls; });
  EXPECT_EQ(calls, 1u);
  module->walk([&](bp::WeightOp op) { id = op.getId().str(); });
  return *pool.find(id);
}

/// A module that takes a weight of the pool.
class FixtureBase {
public:
  FixtureBase() {
    context.loadDialect<bp::BpDialect, mlir::func::FuncDialect>();
  }

  bool form(uint32_t fusion, bool keepsWeights = false) {
    return formsDispatches(*module, {fusion, keepsWeights}, pool);
  }
  std::string print() {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module->print(stream);
    return out;
  }
  unsigned count(llvm::StringRef name) {
    unsigned found = 0;
    module->walk([&](mlir::Operation *op) {
      found += op->getName().stripDialect() == name;
    });
    return found;
  }

  mlir::MLIRContext context;
  backplane::WeightPool pool;
  std::string id; ///< of the weight
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // BACKPLANE_LAYOUT_TEST_FORM_H
