// SPDX-License-Identifier: Apache-2.0
//
// Lowering.h: what the files of this folder share while one function goes from
// `bp` to linalg. Internal.
//
// Every `bp` value is known as a view: a tensor (or scalar) and the map from
// the value's indices to those of the tensor. Broadcasts and transposes only
// change the map; linalg ops take it as an indexing map, and it becomes a copy
// only for those who cannot.
#ifndef BACKPLANE_LOWER_LOWERING_H
#define BACKPLANE_LOWER_LOWERING_H

#include "sdk/dialect/Bp.h"
#include "sdk/lower/DimToIndex.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace bp::lower {

using namespace mlir;

using Sizes = SmallVector<OpFoldResult>;
using Maps = SmallVector<AffineMap>;
using Iterators = SmallVector<utils::IteratorType>;

/// How one dtype is stored and computed.
struct Element {
  /// Of tensors: signless integers, i8 for bool and all of 4 or 8 bits.
  Type storage;
  Type compute; ///< in region bodies: f32 for narrow floats, i1 for bool
  bool isUnsigned = false;
  bool isBool = false;
  Type format = {};    ///< of floats of 4 or 8 bits; null for others
  unsigned packed = 0; ///< bits of an element where bytes hold several, or 0

  bool isFloat() const { return isa<FloatType>(compute); }
  /// Stored wider or narrower than computed.
  bool converts() const { return storage != compute; }
  /// Bits of a number of this dtype.
  unsigned bits() const {
    return packed ? packed : compute.getIntOrFloatBitWidth();
  }
};

/// The element of a tensor type of the `bp` dialect; null types for what is no
/// dtype.
Element elementOf(Type bpType);

struct View {
  Value base;    ///< a tensor of the storage type, or a scalar of it
  AffineMap map; ///< indices of the value → indices of base; null for a scalar
  /// Like base, of the compute type: what was computed in this function, before
  /// it was rounded. Null for what is rounded anyhow.
  Value wide = {};

  bool isScalar() const { return !map; }
  bool isIdentity() const { return map && map.isIdentity(); }
  /// The same without rounding, where that is known.
  View unrounded() const { return wide ? View{wide, map} : View{base, map}; }
};

/// Builds the body of a linalg.generic: arguments to yielded values.
using BodyBuilder =
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)>;

/// Builds indices into a source for those of a result.
using IndexBuilder =
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)>;

class Lowering {
public:
  Lowering(ImplicitLocOpBuilder &builder) : builder(builder) {}

  ImplicitLocOpBuilder &builder;
  DimToIndex symbols;
  Value errorWord;     ///< memref<1xi32>, null when nothing can report
  bool broken = false; ///< a size could not be computed; it is diagnosed

  // ---- values ----
  void set(Value bpValue, View view) { views[bpValue] = view; }
  /// The value is this tensor, element for element.
  void setTensor(Value bpValue, Value tensor, Value wide = {});
  /// The value is this tensor, of the compute type, rounded.
  void setComputed(Value bpValue, Value computed);
  View view(Value bpValue) const { return views.lookup(bpValue); }
  /// The view, with a tensor of the value's own rank whose dims are permuted
  /// at most.
  View permutedView(Value bpValue);
  /// The view, with tensors of the value's own shape.
  View plainView(Value bpValue);
  /// The value, rounded, as a tensor of its own shape.
  Value tensor(Value bpValue);

  // ---- types and sizes ----
  /// The type without encoding, of the storage type.
  RankedTensorType storageType(Type bpType) const;
  /// The dims of an argument or result of the function, as text: those of the
  /// value, or the bytes of packed elements.
  SmallVector<StringAttr> boundaryDims(Type bpType) const;
  RankedTensorType boundaryType(Type bpType) const;
  Sizes sizes(Type bpType);
  Sizes sizes(DimsAttr dims);
  Value sizeAsIndex(OpFoldResult size);

  // ---- tensors ----
  Value empty(const Sizes &sizes, Type element);
  /// A new tensor of the type of `bpType` but for the element.
  Value emptyLike(Type bpType, Type element);
  Value filled(Value tensor, TypedAttr value);
  /// A linalg.generic over these inputs; results in `outputs`.
  linalg::GenericOp generic(ValueRange inputs, ValueRange outputs,
                            ArrayRef<AffineMap> maps,
                            ArrayRef<utils::IteratorType> iterators,
                            BodyBuilder body);
  /// A linalg.generic whose loops are the dims of `output`.
  Value parallel(ArrayRef<View> inputs, Value output, BodyBuilder body);
  /// `tensor` rounded from its element to that of `element`.
  Value rounded(Value tensor, const Element &element, const Sizes &sizes);
  /// Merges dims: one entry of the result per group.
  Value collapse(Value tensor, ArrayRef<ReassociationIndices> groups);
  Value expand(Value tensor, const Sizes &sizes,
               ArrayRef<ReassociationIndices> groups);
  /// The same elements in row-major order under other dims.
  Value reshape(Value tensor, const std::vector<backplane::Dim> &from,
                const std::vector<backplane::Dim> &to, const Sizes &sizes);
  /// A linalg.generic of result[i…] = source[index(i…)]. With a condition,
  /// nothing is read unless it holds.
  Value pick(View source, const Sizes &sizes, Value condition,
             IndexBuilder index);
  /// The elements of an argument as they are stored; of packed ones the reads.
  Value fromBoundary(Value argument, Type bpType);
  /// What the function returns of a tensor of the storage type.
  Value toBoundary(Value tensor, Type bpType);
  /// With static borders that hold `value`.
  Value padded(Value tensor, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
               TypedAttr value);

  /// Reports BP_KERNEL_ERROR(code, 0) when `bad`, in a region body.
  void report(ImplicitLocOpBuilder &body, Value bad, uint32_t code);

private:
  Value materialize(View view, Type bpType, Type element);

  llvm::DenseMap<Value, View> views;
};

/// A stored element, or one that was not rounded, as one that can be computed
/// with, and back.
Value load(ImplicitLocOpBuilder &body, Value stored, const Element &element);
Value store(ImplicitLocOpBuilder &body, Value computed, const Element &element);

/// The f32 that the bits of a format of 4 or 8 bits stand for, in a byte, and
/// those of an f32, rounded as `cast` says.
Value decodeFloat(ImplicitLocOpBuilder &body, Value stored, Type format);
Value encodeFloat(ImplicitLocOpBuilder &body, Value computed, Type format);

/// 0, 1 or the value that `kind` ("sum|prod|min|max|and|or") starts from.
TypedAttr neutral(StringRef kind, Type type, bool isUnsigned);
/// One step of a reduction of that kind.
Value combine(ImplicitLocOpBuilder &body, StringRef kind, Value a, Value b,
              bool isUnsigned);
/// a * b + sum, in two steps.
Value multiplyAdd(ImplicitLocOpBuilder &body, Value a, Value b, Value sum);
/// x less the multiple of y next to it towards zero; exact.
Value floatRemainder(ImplicitLocOpBuilder &body, Value x, Value y);
Value castScalar(ImplicitLocOpBuilder &body, Value value, const Element &from,
                 const Element &to);
/// The plain number that every element of an integer value is known to be.
std::optional<APInt> knownInteger(Value bpValue);
bool mayReport(Operation *op);

/// Whether the op divides exp(x - max(x)) by the sum of all of them: numbers up
/// to 1 by one of at least 1, or else the line is NaN throughout.
bool isShare(Operation *op);
/// Whether the op is such an exp(x - max(x)).
bool isBelowMaximum(Operation *op);
/// Whether a maximum serves such shares alone: with NaN among its elements they
/// are NaN, whatever it is.
bool isHiddenByNan(ReduceOp top);

/// Writes a view into a box of `target`, through a copy that can be tiled. An
/// empty box may lie at the end, where MLIR wants none.
Value insertCopy(Lowering &lowering, View source, Value target,
                 const Sizes &offsets, const Sizes &sizes);

// One function for the elementwise ops and one for each other op of the op
// table; each takes an op whose operands have views and sets the views of its
// results.
LogicalResult lowerElementwise(Lowering &lowering, Operation *op);
#include "sdk/lower/LowerOps.inc"

} // namespace bp::lower

#endif // BACKPLANE_LOWER_LOWERING_H
