// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/BlockTensor.h"

#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace backplane {
namespace {

/// An axis of a buffer that has more than one element.
struct BufferAxis {
  int64_t size, stride; ///< in elements
  unsigned loop;
};

} // namespace

/// Those of an input, the innermost first; none where an index is no loop.
static std::optional<SmallVector<BufferAxis>>
axesOf(linalg::GenericOp op, OpOperand &input, MemRefType type) {
  SmallVector<BufferAxis> axes;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  AffineMap map = op.getMatchingIndexingMap(&input);
  int64_t stride = 1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    int64_t size = type.getDimSize(unsigned(axis));
    auto loop = soleLoop(map.getResult(unsigned(axis)), loops);
    if (size != 1 && (!loop || loops[*loop] != size))
      return std::nullopt;
    if (size != 1)
      axes.push_back({size, stride, *loop});
    stride *= size;
  }
  return axes;
}

/// Takes the axes of these loops, last loop first, off the front of others, as
/// one axis; false where they are not there.
static bool takeAxes(ArrayRef<BufferAxis> &axes, ArrayRef<unsigned> loops,
                     ArrayRef<int64_t> sizes, BufferAxis &out) {
  out = {1, 0, 0};
  for (unsigned loop : llvm::reverse(loops)) {
    if (sizes[loop] == 1)
      continue;
    if (axes.empty() || axes.front().loop != loop)
      return false;
    if (out.size == 1)
      out = axes.front();
    else
      out.size *= axes.front().size;
    axes = axes.drop_front();
  }
  return out.size != 1;
}

/// The buffer of an input that is nothing else.
static BlockArgument bufferOf(OpOperand &input) {
  auto tensor = input.get().getDefiningOp<bufferization::ToTensorOp>();
  if (!tensor || tensor.getWritable())
    return BlockArgument();
  return dyn_cast<BlockArgument>(tensor.getBuffer());
}

/// Takes the axes of lines off others, which are returned: each of a loop that
/// stands still in a block.
static std::optional<SmallVector<BufferAxis>>
takeLines(ArrayRef<BufferAxis> axes, ArrayRef<unsigned> lines,
          ArrayRef<unsigned> inLine, ArrayRef<int64_t> sizes, BufferAxis &out) {
  SmallVector<BufferAxis> others;
  while (!axes.empty() && !llvm::is_contained(lines, axes.front().loop)) {
    others.push_back(axes.front());
    axes = axes.drop_front();
  }
  if (!takeAxes(axes, lines, sizes, out))
    return std::nullopt;
  llvm::append_range(others, axes);
  bool still = llvm::none_of(others, [&](const BufferAxis &axis) {
    return llvm::is_contained(lines, axis.loop) ||
           llvm::is_contained(inLine, axis.loop);
  });
  return still ? std::optional(others) : std::nullopt;
}

std::optional<BlockTensor> findBlockTensor(linalg::GenericOp op,
                                           OpOperand &input,
                                           ArrayRef<unsigned> inLine,
                                           ArrayRef<unsigned> lines) {
  BlockArgument buffer = bufferOf(input);
  auto type = buffer ? cast<MemRefType>(buffer.getType()) : MemRefType();
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
    return std::nullopt;
  auto axes = axesOf(op, input, type);
  if (!axes)
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  ArrayRef<BufferAxis> rest = *axes;
  BufferAxis line, block;
  if (!takeAxes(rest, inLine, sizes, line))
    return std::nullopt;
  auto others = takeLines(rest, lines, inLine, sizes, block);
  if (!others)
    return std::nullopt;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  BlockTensor found;
  TensorInBinding &tensor = found.tensor;
  tensor.binding = buffer.getArgNumber();
  tensor.sizes = {line.size, block.size};
  tensor.strides = {block.stride * bytes};
  for (const BufferAxis &axis : *others) {
    tensor.sizes.push_back(axis.size);
    tensor.strides.push_back(axis.stride * bytes);
    found.outer.push_back(axis.loop);
  }
  bool isEven = llvm::all_of(tensor.strides, [](int64_t stride) {
    return stride % BlockCopies::kStrideBytes == 0;
  });
  bool possible = isEven && tensor.sizes.size() <= BlockCopies::kMostAxes;
  return possible ? std::optional(found) : std::nullopt;
}

} // namespace backplane
