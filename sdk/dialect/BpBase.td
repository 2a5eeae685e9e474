// SPDX-License-Identifier: Apache-2.0
//
// BpBase.td: the `bp` dialect, its attribute and what all its ops share. The
// ops themselves are generated from ops.toml by gen_ods.py.
#ifndef BACKPLANE_DIALECT_BPBASE_TD
#define BACKPLANE_DIALECT_BPBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Bp_Dialect : Dialect {
  let name = "bp";
  let cppNamespace = "::bp";
  let summary = "The portable graph inside the compiler";
  let description = [{
    One op per entry of the op table (docs/reference/ops.md), with the same
    meaning. Tensors whose shape depends on symbols carry `#bp.dims` as their
    encoding: `tensor<?x64xf32, #bp.dims<["n", "64"]>>`.
  }];
  let useDefaultAttributePrinterParser = 1;
  // Attributes are keyed by name in bytecode, so that ops may grow.
  let usePropertiesForAttributes = 0;
  let hasConstantMaterializer = 1;
}

def Bp_DimsAttr : AttrDef<Bp_Dialect, "Dims", [VerifiableTensorEncoding]> {
  let mnemonic = "dims";
  let summary = "Sizes as expressions over symbols, in canonical text";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$texts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// From expressions; the texts are then canonical.
    static DimsAttr get(::mlir::MLIRContext *context,
                        const ::std::vector<::backplane::Dim> &dims);
    /// The expressions.
    ::std::vector<::backplane::Dim> getDims() const;
    ::llvm::LogicalResult
    verifyEncoding(::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
                   ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError)
        const;
  }];
}

def Bp_Tensor : TensorOf<[AnyType]>;

// Element i of the result depends on element i of the operands only.
def Bp_Elementwise : NativeOpTrait<"Elementwise"> {
  let cppNamespace = "::bp";
}
// Has a decomposition into primitives.
def Bp_Composite : NativeOpTrait<"Composite"> { let cppNamespace = "::bp"; }

class Bp_TableOp<string mnemonic, list<Trait> traits>
    : Op<Bp_Dialect, mnemonic,
         traits # [InferTypeOpInterface]> {
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> loc,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::bp::inferTableTypes(context, loc, "}] # mnemonic # [{",
                                   operands.getTypes(), attributes, types);
    }
  }];
}

class Bp_ConstantOp<string mnemonic, list<Trait> traits>
    : Bp_TableOp<mnemonic, traits # [ConstantLike]> {
  let hasFolder = 1;
}

// An op with regions (sdk/graph/Control.h), opaque to everything that works on
// the ops around it: its regions are compiled as programs of their own.
def Bp_ControlOp : Op<Bp_Dialect, "control", [Pure]> {
  let summary = "Regions that the program runs: if and while";
  let arguments = (ins Variadic<Bp_Tensor>:$values, StrAttr:$kind,
      Bp_DimsAttr:$condition, BoolAttr:$conditional, I64Attr:$carried,
      Bp_DimsAttr:$limit,
      // Which op of the graph it is: the number of an op, and from there of a
      // region and of an op in it, as often as regions were put in place.
      DenseI64ArrayAttr:$path,
      // Numbers of its regions in the artifact, once they are compiled.
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$programs);
  let results = (outs Variadic<Bp_Tensor>:$outcomes);
  let assemblyFormat =
      "$kind $values attr-dict `:` functional-type($values, results)";
}

#endif // BACKPLANE_DIALECT_BPBASE_TD
