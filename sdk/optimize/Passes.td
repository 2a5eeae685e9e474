// SPDX-License-Identifier: Apache-2.0
//
// The target-independent passes over the `bp` dialect. Each takes a module as
// importGraph makes it and leaves one of the same form.
#ifndef BACKPLANE_OPTIMIZE_PASSES
#define BACKPLANE_OPTIMIZE_PASSES

include "sdk/compiler/Published.td"
include "mlir/Pass/PassBase.td"

def ForwardVariablesPass : Pass<"bp-forward-variables", "mlir::ModuleOp"> {
  let summary = "Reads of a variable to what was written before them";
  let description = [{
    A read of a variable after a write becomes the written
    value, and of several writes the last one stays. All reads that are left are
    of values from before the call, all writes can wait for its end.
  }];
}

def SimplifyPass : Pass<"bp-simplify">,
    MayChange<"optimize", "bp ops",
      "bp ops, at most as many"> {
  let summary = "Removes bp ops that do nothing and merges those that compose";
  let description = [{
    Identities that hold bit for bit, also for NaN, infinities
    and -0: movement of movement, arithmetic with neutral constants, casts that
    lose nothing, select of a constant.
  }];
}

def FoldScalesPass : Pass<"bp-fold-scales">,
    MayChange<"optimize", "bp ops in main",
      "bp ops in main, some of them on weights alone"> {
  let summary = "Per-channel factors to the weights of contractions";
  let description = [{
    Per-channel factors and offsets after conv and matmul with
    weights move into the weights (batch norm folding). Changes rounding.
  }];
}

def QuantizedProductsPass : Pass<"bp-quantized-products">,
    MayChange<"optimize", "bp ops in main",
      "bp ops in main, contractions of i32 among them"> {
  let summary = "Contractions of dequantised bytes to contractions of bytes";
  let description = [{
    A conv or matmul of f32 whose factors are bytes less
    zero points times scales, one for the first factor and one per output channel for a
    weight, becomes one of i32 and a product with the scales. For targets that
    have BP_FUSE_WIDENING. Changes rounding.
  }];
  let options = [
    Option<"keepWeights", "keep-weights", "bool", "false",
           "a weight of bytes times scales that anything else of f32 is "
           "multiplied by is widened to f32 where it is multiplied, and scaled "
           "then: for targets that have BP_FUSE_WEIGHTS, too">
  ];
}

def TableLookupPass : Pass<"bp-table-lookup">,
    MayChange<"optimize", "bp ops in main",
      "bp ops in main"> {
  let summary = "One-hot products and functions of them to gathers";
  let description = [{
    A product with a one-hot tensor becomes a gather, and
    elementwise functions of gathered constant rows are computed on the table.
  }];
  let constructor = "bp::createTableLookupPass()";
}

def OutlineConstantsPass : Pass<"bp-outline-constants", "mlir::ModuleOp"> {
  let summary = "What depends on weights alone to functions";
  let description = [{
    Maximal subgraphs that depend on weights and constants
    only become functions `fold_N` with the unit attribute `bp.fold`, called
    from where they stood. FoldConstants.h evaluates them.
  }];
  let options = [
    Option<"keepPlaces", "keep-places", "bool", "false",
           "masks made of places alone, of more than 4096 bytes, stay ops: an "
           "attention that has them knows what no row sees">,
    Option<"keepBytes", "keep-bytes", "bool", "false",
           "weights of bytes that products of f32 widen stay bytes">
  ];
  let constructor = "bp::createOutlineConstantsPass()";
}

def MoveTablesPass : Pass<"bp-move-tables", "mlir::ModuleOp"> {
  let summary = "Constants with many different elements to weights";
  let description = [{
    Stage `fusion`, for targets whose code has no memory for constants: a shader
    would write such a table anew in each invocation. Constants of more than 16
    different elements become weights.
  }];
  let constructor = "bp::createMoveTablesPass()";
}

#endif // BACKPLANE_OPTIMIZE_PASSES
