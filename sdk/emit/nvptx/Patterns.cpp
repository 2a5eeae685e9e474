// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/nvptx/Patterns.h"
#include "sdk/dialect/Attributes.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace backplane;

void backplane::addNvptxTypes(LLVMTypeConverter &types) {
  types.addConversion([](MemRefType type) -> std::optional<Type> {
    if (type.getRank() != 1)
      return std::nullopt;
    unsigned space = gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type)
                         ? nvptxShared
                     : type.isDynamicDim(0) ? nvptxGlobal
                                            : nvptxGeneric;
    return LLVM::LLVMPointerType::get(type.getContext(), space);
  });
}

namespace {

constexpr unsigned vectorBytes = 16;
/// What memory that the launch asks for begins at a multiple of.
constexpr unsigned dynamicAlignment = 1024;

template <typename Op>
struct KernelPattern : public ConvertOpToLLVMPattern<Op> {
  explicit KernelPattern(const LLVMTypeConverter &types)
      : ConvertOpToLLVMPattern<Op>(types, /*benefit=*/10) {}

  Type element(MemRefType type) const {
    return this->getTypeConverter()->convertType(type.getElementType());
  }
  Value address(ConversionPatternRewriter &rewriter, Location loc,
                MemRefType type, Value buffer, ValueRange at) const {
    return LLVM::GEPOp::create(rewriter, loc, buffer.getType(), element(type),
                               buffer, at, LLVM::GEPNoWrapFlags::inbounds);
  }
};

struct ConvertLoad : KernelPattern<memref::LoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getMemRefType();
    Value from = address(rewriter, op.getLoc(), type, adaptor.getMemref(),
                         adaptor.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, element(type), from);
    return success();
  }
};

struct ConvertStore : KernelPattern<memref::StoreOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value to = address(rewriter, op.getLoc(), op.getMemRefType(),
                       adaptor.getMemref(), adaptor.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), to);
    return success();
  }
};

/// A variable of the module. One executable has the variables of many kernels,
/// so that names begin with the kernel's.
LLVM::GlobalOp addVariable(ConversionPatternRewriter &rewriter, Operation *op,
                           StringRef what, Type type, Attribute value,
                           NvptxSpace space) {
  auto kernel = op->getParentOfType<LLVM::LLVMFuncOp>();
  auto module = kernel->getParentOfType<ModuleOp>();
  auto variables = module.getOps<LLVM::GlobalOp>();
  std::string name = (kernel.getSymName() + "_" + what +
                      Twine(std::distance(variables.begin(), variables.end())))
                         .str();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  return LLVM::GlobalOp::create(rewriter, op->getLoc(), type,
                                /*isConstant=*/bool(value),
                                LLVM::Linkage::Internal, name, value,
                                vectorBytes, space);
}

struct ConvertAddress : KernelPattern<memref::ExtractAlignedPointerAsIndexOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::ExtractAlignedPointerAsIndexOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(
        op, getTypeConverter()->getIndexType(), adaptor.getSource());
    return success();
  }
};

/// A variable of which the launch says how large it is.
void makeDynamic(LLVM::GlobalOp variable) {
  auto line = cast<LLVM::LLVMArrayType>(variable.getGlobalType());
  variable.setGlobalType(LLVM::LLVMArrayType::get(line.getElementType(), 0));
  variable.setLinkage(LLVM::Linkage::External);
  variable.setAlignment(dynamicAlignment);
}

struct ConvertShared : KernelPattern<memref::AllocOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::AllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type) ||
        !type.hasStaticShape())
      return failure();
    auto line =
        LLVM::LLVMArrayType::get(element(type), uint64_t(type.getDimSize(0)));
    auto variable =
        addVariable(rewriter, op, "shared", line, Attribute(), nvptxShared);
    if (op->hasAttr(bp::dynamicAttr))
      makeDynamic(variable);
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(op, variable);
    return success();
  }
};

struct ConvertAlloca : KernelPattern<memref::AllocaOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::AllocaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    Value count = LLVM::ConstantOp::create(
        rewriter, op.getLoc(), rewriter.getI32IntegerAttr(type.getDimSize(0)));
    rewriter.replaceOpWithNewOp<LLVM::AllocaOp>(
        op, getTypeConverter()->convertType(type), element(type), count);
    return success();
  }
};

/// A table of constants lies in global memory: there is no bound on its size.
struct ConvertTable : KernelPattern<memref::GetGlobalOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto table = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        op, op.getNameAttr());
    auto values =
        table ? dyn_cast_or_null<DenseElementsAttr>(table.getInitialValueAttr())
              : DenseElementsAttr();
    if (!values)
      return failure();
    auto line = LLVM::LLVMArrayType::get(element(op.getType()),
                                         uint64_t(values.getNumElements()));
    auto variable =
        addVariable(rewriter, op, "table", line, values, nvptxGlobal);
    Value address = LLVM::AddressOfOp::create(rewriter, op.getLoc(), variable);
    rewriter.replaceOpWithNewOp<LLVM::AddrSpaceCastOp>(
        op, getTypeConverter()->convertType(op.getType()), address);
    return success();
  }
};

struct ConvertReturn : KernelPattern<func::ReturnOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(func::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

/// How far 64 bits are shifted is known at run time. LLVM 22 makes one
/// instruction of such a shift and a comparison of the distance with the width:
/// shifts of PTX go beyond the last bit. But they read 32 bits of the distance,
/// and the upper ones that were compared are lost. It does not look into
/// assembly.
template <typename Op> struct ConvertShift : KernelPattern<Op> {
  using KernelPattern<Op>::KernelPattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isInteger(64) || matchPattern(op.getRhs(), m_Constant()))
      return failure();
    constexpr bool left = std::is_same_v<Op, arith::ShLIOp>;
    Value distance = LLVM::TruncOp::create(
        rewriter, op.getLoc(), rewriter.getI32Type(), adaptor.getRhs());
    auto shift = LLVM::InlineAsmOp::create(
        rewriter, op.getLoc(), type, ValueRange{adaptor.getLhs(), distance},
        left ? "shl.b64 $0, $1, $2;" : "shr.u64 $0, $1, $2;", "=l,l,r",
        /*has_side_effects=*/false, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    rewriter.replaceOp(op, shift.getResults());
    return success();
  }
};

/// A special register as index; all of them fit 31 bits.
template <typename Register>
Value readRegister(ConversionPatternRewriter &rewriter, Location loc,
                   const LLVMTypeConverter &types) {
  Value value = Register::create(rewriter, loc, rewriter.getI32Type());
  return LLVM::ZExtOp::create(rewriter, loc, types.getIndexType(), value);
}

template <typename Op, typename X, typename Y, typename Z>
struct ConvertNumber : KernelPattern<Op> {
  using KernelPattern<Op>::KernelPattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto read = op.getDimension() == gpu::Dimension::x   ? &readRegister<X>
                : op.getDimension() == gpu::Dimension::y ? &readRegister<Y>
                                                         : &readRegister<Z>;
    rewriter.replaceOp(op,
                       read(rewriter, op.getLoc(), *this->getTypeConverter()));
    return success();
  }
};

struct ConvertLane : KernelPattern<gpu::LaneIdOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(gpu::LaneIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, readRegister<NVVM::LaneIdOp>(rewriter, op.getLoc(),
                                                        *getTypeConverter()));
    return success();
  }
};

/// Work-groups have one axis.
struct ConvertSubgroup : KernelPattern<gpu::SubgroupIdOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(gpu::SubgroupIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value thread =
        readRegister<NVVM::ThreadIdXOp>(rewriter, loc, *getTypeConverter());
    Value size = LLVM::ConstantOp::create(
        rewriter, loc, rewriter.getIntegerAttr(thread.getType(), nvptxWarp));
    rewriter.replaceOpWithNewOp<LLVM::UDivOp>(op, thread, size);
    return success();
  }
};

struct ConvertSubgroupSize : KernelPattern<gpu::SubgroupSizeOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(gpu::SubgroupSizeOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->getIndexType();
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, rewriter.getIntegerAttr(type, nvptxWarp));
    return success();
  }
};

struct ConvertBarrier : KernelPattern<gpu::BarrierOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};

/// Words of 32 bits change hands, one after another.
struct ConvertShuffle : KernelPattern<gpu::ShuffleOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Value exchange(ConversionPatternRewriter &rewriter, Location loc, Value word,
                 Value offset, Value clamp) const;
};

} // namespace

Value ConvertShuffle::exchange(ConversionPatternRewriter &rewriter,
                               Location loc, Value word, Value offset,
                               Value clamp) const {
  Value all =
      LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(-1));
  return NVVM::ShflOp::create(rewriter, loc, word.getType(), all, word, offset,
                              clamp, NVVM::ShflKind::bfly, UnitAttr());
}

LogicalResult
ConvertShuffle::matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  APInt width;
  Type type = adaptor.getValue().getType();
  bool constant = matchPattern(op.getWidth(), m_ConstantInt(&width));
  if (!constant || !type.isIntOrFloat() ||
      op.getMode() != gpu::ShuffleMode::XOR)
    return rewriter.notifyMatchFailure(op, "no butterfly of a constant width");
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64)
    return rewriter.notifyMatchFailure(op, "neither 32 nor 64 bits");
  // Segments of `width` lanes, and the last lane.
  auto segments = int32_t((nvptxWarp - width.getSExtValue()) << 8);
  Value clamp = LLVM::ConstantOp::create(
      rewriter, loc, rewriter.getI32IntegerAttr(segments | (nvptxWarp - 1)));
  auto word = VectorType::get({bits / 32}, rewriter.getI32Type());
  Value words =
      LLVM::BitcastOp::create(rewriter, loc, word, adaptor.getValue());
  for (unsigned i = 0; i < bits / 32; ++i) {
    Value at =
        LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(i));
    Value own = LLVM::ExtractElementOp::create(rewriter, loc, words, at);
    Value other = exchange(rewriter, loc, own, adaptor.getOffset(), clamp);
    words = LLVM::InsertElementOp::create(rewriter, loc, words, other, at);
  }
  Value result = LLVM::BitcastOp::create(rewriter, loc, type, words);
  Value valid =
      LLVM::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
  rewriter.replaceOp(op, {result, valid});
  return success();
}

void backplane::addNvptxPatterns(const LLVMTypeConverter &types,
                                 RewritePatternSet &patterns) {
  patterns
      .add<ConvertLoad, ConvertStore, ConvertAddress, ConvertShared,
           ConvertAlloca, ConvertTable, ConvertReturn, ConvertLane,
           ConvertSubgroup, ConvertSubgroupSize, ConvertBarrier, ConvertShuffle,
           ConvertShift<arith::ShLIOp>, ConvertShift<arith::ShRUIOp>,
           ConvertNumber<gpu::ThreadIdOp, NVVM::ThreadIdXOp, NVVM::ThreadIdYOp,
                         NVVM::ThreadIdZOp>,
           ConvertNumber<gpu::BlockIdOp, NVVM::BlockIdXOp, NVVM::BlockIdYOp,
                         NVVM::BlockIdZOp>,
           ConvertNumber<gpu::GridDimOp, NVVM::GridDimXOp, NVVM::GridDimYOp,
                         NVVM::GridDimZOp>>(types);
}
