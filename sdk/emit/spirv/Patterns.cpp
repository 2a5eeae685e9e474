// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace backplane;

spirv::PointerType backplane::storageBufferType(Type element) {
  auto vector = dyn_cast<VectorType>(element);
  Type part = vector ? vector.getElementType() : element;
  unsigned bytes = llvm::divideCeil(part.getIntOrFloatBitWidth(), 8);
  if (vector)
    bytes *= unsigned(vector.getNumElements());
  auto line = spirv::RuntimeArrayType::get(element, bytes);
  return spirv::PointerType::get(spirv::StructType::get({line}, {0}),
                                 spirv::StorageClass::StorageBuffer);
}

void backplane::addBufferTypes(SPIRVTypeConverter &types) {
  types.addConversion([](MemRefType type) -> std::optional<Type> {
    if (type.getRank() != 1)
      return std::nullopt;
    if (type.isDynamicDim(0))
      return storageBufferType(type.getElementType());
    auto line =
        spirv::ArrayType::get(type.getElementType(), type.getDimSize(0));
    return spirv::PointerType::get(
        line, gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type)
                  ? spirv::StorageClass::Workgroup
                  : spirv::StorageClass::Function);
  });
}

bool backplane::usesFloats(spirv::FuncOp function, unsigned width) {
  return function
      .walk([&](Operation *op) {
        for (Type type : op->getResultTypes())
          if (auto number = dyn_cast<FloatType>(type);
              number && number.getWidth() == width)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

/// The address of an element.
Value elementAddress(ConversionPatternRewriter &rewriter, Location loc,
                     Value buffer, ValueRange at) {
  auto pointer = cast<spirv::PointerType>(buffer.getType());
  SmallVector<Value> path;
  if (pointer.getStorageClass() == spirv::StorageClass::StorageBuffer)
    path.push_back(
        spirv::ConstantOp::getZero(rewriter.getI32Type(), loc, rewriter));
  llvm::append_range(path, at);
  return spirv::AccessChainOp::create(rewriter, loc, buffer, path);
}

struct ConvertLoad : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address = elementAddress(rewriter, op.getLoc(), adaptor.getMemref(),
                                   adaptor.getIndices());
    rewriter.replaceOpWithNewOp<spirv::LoadOp>(op, address);
    return success();
  }
};

struct ConvertStore : OpConversionPattern<memref::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address = elementAddress(rewriter, op.getLoc(), adaptor.getMemref(),
                                   adaptor.getIndices());
    rewriter.replaceOpWithNewOp<spirv::StoreOp>(op, address,
                                                adaptor.getValue());
    return success();
  }
};

/// Memory of the work-group is a variable of the module.
struct ConvertShared : OpConversionPattern<memref::AllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::AllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    auto pointer = dyn_cast_or_null<spirv::PointerType>(type);
    if (!pointer || pointer.getStorageClass() != spirv::StorageClass::Workgroup)
      return failure();
    auto module = op->getParentOfType<spirv::ModuleOp>();
    auto variables = module.getOps<spirv::GlobalVariableOp>();
    std::string name =
        ("shared" + Twine(std::distance(variables.begin(), variables.end())))
            .str();
    spirv::GlobalVariableOp variable;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      variable = spirv::GlobalVariableOp::create(rewriter, op.getLoc(), pointer,
                                                 name, FlatSymbolRefAttr());
    }
    rewriter.replaceOpWithNewOp<spirv::AddressOfOp>(op, variable);
    return success();
  }
};

struct ConvertAlloca : OpConversionPattern<memref::AllocaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::AllocaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    rewriter.replaceOpWithNewOp<spirv::VariableOp>(
        op, type, spirv::StorageClass::Function, Value());
    return success();
  }
};

/// A table is an array of the invocation with these values.
struct ConvertTable : OpConversionPattern<memref::GetGlobalOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto table = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        op, op.getNameAttr());
    auto values =
        table ? dyn_cast_or_null<DenseElementsAttr>(table.getInitialValueAttr())
              : DenseElementsAttr();
    auto type = dyn_cast_or_null<spirv::PointerType>(
        getTypeConverter()->convertType(op.getType()));
    if (!values || !type)
      return failure();
    Value initial = spirv::ConstantOp::create(rewriter, op.getLoc(),
                                              type.getPointeeType(), values);
    rewriter.replaceOpWithNewOp<spirv::VariableOp>(
        op, type, spirv::StorageClass::Function, initial);
    return success();
  }
};

struct ConvertReturn : OpConversionPattern<func::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(func::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::ReturnOp>(op);
    return success();
  }
};

/// Integers to indices: what does not fit becomes the nearest index, which no
/// size reaches.
struct ConvertToIndex : OpConversionPattern<arith::IndexCastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::IndexCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value in = adaptor.getIn();
    if (!op.getType().isIndex() || !in.getType().isInteger(64))
      return failure();
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return spirv::ConstantOp::create(rewriter, loc, in.getType(),
                                       rewriter.getI64IntegerAttr(value));
    };
    in = spirv::GLSMinOp::create(rewriter, loc, in, constant(INT32_MAX));
    in = spirv::GLSMaxOp::create(rewriter, loc, in, constant(INT32_MIN));
    rewriter.replaceOpWithNewOp<spirv::SConvertOp>(op, rewriter.getI32Type(),
                                                   in);
    return success();
  }
};

/// Of negative operands shaders have the quotient, but not the rest.
struct ConvertRemainder : OpConversionPattern<arith::RemSIOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::RemSIOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getLhs(), y = adaptor.getRhs();
    Value quotient = spirv::SDivOp::create(rewriter, loc, x, y);
    Value product = spirv::IMulOp::create(rewriter, loc, quotient, y);
    rewriter.replaceOpWithNewOp<spirv::ISubOp>(op, x, product);
    return success();
  }
};

struct ConvertPoison : OpConversionPattern<ub::PoisonOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ub::PoisonOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return failure();
    rewriter.replaceOpWithNewOp<spirv::UndefOp>(op, type);
    return success();
  }
};

} // namespace

void backplane::addSpirvPatterns(const SPIRVTypeConverter &types,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertLoad, ConvertStore, ConvertShared, ConvertAlloca,
               ConvertTable, ConvertReturn, ConvertToIndex, ConvertRemainder,
               ConvertPoison>(types, patterns.getContext(), /*benefit=*/10);
}
