// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/nvptx/TensorMaps.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/emit/nvptx/Patterns.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace backplane {

constexpr int64_t kMapBytes = 128, kMapAlignment = 64;

Value tensorMap(ImplicitLocOpBuilder &b, const TensorInBinding &tensor) {
  auto list = [&](ArrayRef<int64_t> numbers) {
    return b.getDenseI64ArrayAttr(numbers);
  };
  int64_t block[] = {tensor.lineElements, tensor.lines};
  DictionaryAttr described = b.getDictionaryAttr(
      {b.getNamedAttr("binding", b.getI64IntegerAttr(tensor.binding)),
       b.getNamedAttr("bytes", b.getI64IntegerAttr(bytesOf(tensor.element))),
       b.getNamedAttr("sizes", list(tensor.sizes)),
       b.getNamedAttr("strides", list(tensor.strides)),
       b.getNamedAttr("block", list(block))});
  auto cast = UnrealizedConversionCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()), ValueRange());
  cast->setAttr(bp::tensorMapAttr, described);
  return cast.getResult(0);
}

static DictionaryAttr tensorOf(Operation *op) {
  return op->getAttrOfType<DictionaryAttr>(bp::tensorMapAttr);
}

SmallVector<DictionaryAttr> tensorsOf(func::FuncOp func) {
  llvm::SetVector<DictionaryAttr> all;
  func.walk([&](UnrealizedConversionCastOp op) {
    if (DictionaryAttr tensor = tensorOf(op))
      all.insert(tensor);
  });
  return all.takeVector();
}

/// Their number; then of each the binding, bytes of an element, the number of
/// axes, sizes, strides, and the sizes of a block.
static SmallVector<int64_t> wordsOf(ArrayRef<DictionaryAttr> tensors) {
  SmallVector<int64_t> words{int64_t(tensors.size())};
  for (DictionaryAttr tensor : tensors) {
    auto number = [&](StringRef name) {
      return cast<IntegerAttr>(tensor.get(name)).getInt();
    };
    auto list = [&](StringRef name) {
      return cast<DenseI64ArrayAttr>(tensor.get(name)).asArrayRef();
    };
    words.append(
        {number("binding"), number("bytes"), int64_t(list("sizes").size())});
    for (StringRef name : {"sizes", "strides", "block"})
      llvm::append_range(words, list(name));
  }
  return words;
}

static void describe(LLVM::LLVMFuncOp kernel,
                     ArrayRef<DictionaryAttr> tensors) {
  OpBuilder builder(kernel);
  SmallVector<int64_t> words = wordsOf(tensors);
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), words.size());
  LLVM::GlobalOp::create(
      builder, kernel.getLoc(), type, /*isConstant=*/true,
      LLVM::Linkage::External, (kernel.getSymName() + "_tensors").str(),
      builder.getI64TensorAttr(words), /*alignment=*/8, nvptxGlobal);
}

void bindTensorMaps(LLVM::LLVMFuncOp kernel, ArrayRef<DictionaryAttr> tensors) {
  if (tensors.empty())
    return;
  Builder builder(kernel);
  unsigned first = kernel.getNumArguments() - unsigned(tensors.size());
  auto type =
      LLVM::LLVMArrayType::get(builder.getIntegerType(8), unsigned(kMapBytes));
  for (unsigned i = first; i < kernel.getNumArguments(); ++i) {
    kernel.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(type));
    kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(kMapAlignment));
    kernel.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                      builder.getUnitAttr());
  }
  kernel.walk([&](UnrealizedConversionCastOp op) {
    DictionaryAttr tensor = tensorOf(op);
    if (!tensor)
      return;
    auto place = unsigned(llvm::find(tensors, tensor) - tensors.begin());
    op.getResult(0).replaceAllUsesWith(kernel.getArgument(first + place));
    op.erase();
  });
  describe(kernel, tensors);
}

} // namespace backplane
