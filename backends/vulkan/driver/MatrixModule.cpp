// SPDX-License-Identifier: Apache-2.0
#include "MatrixModule.h"

#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace backplane::vulkan {

namespace {

/// Numbers of the SPIR-V specification; the last five are those of the older
/// form, in the same order as the five in front of them.
enum Opcode : uint32_t {
  OpExtension = 10,
  OpCapability = 17,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpConstantFalse = 42,
  OpConstant = 43,
  OpFunction = 54,
  OpTypeMatrix = 4456,
  OpLoadMatrix = 4457,
  OpStoreMatrix = 4458,
  OpMulAddMatrix = 4459,
  OpMatrixLength = 4460,
  OpOlderTypeMatrix = 5358,
  OpOlderLoadMatrix = 5359,
  OpOlderStoreMatrix = 5360,
  OpOlderMulAddMatrix = 5361,
  OpOlderMatrixLength = 5362,
};
constexpr uint32_t capabilityOlderMatrix = 5357;
constexpr char extension[] = "SPV_KHR_cooperative_matrix";
constexpr char olderExtension[] = "SPV_NV_cooperative_matrix";
constexpr size_t boundWord = 3;
constexpr uint32_t scopeSubgroup = 3, saturating = 16, columnMajor = 1;
enum MatrixRole : uint32_t { RoleA, RoleB, RoleSums };

/// Integers of 32 bits that constants are, by their ids.
class Constants {
public:
  struct Constant {
    uint32_t type, value;
  };
  void look(uint32_t opcode, Module operands) {
    if (opcode == OpConstant && operands.size() == 3)
      known_[operands[1]] = {operands[0], operands[2]};
  }
  std::optional<Constant> find(uint32_t id) const {
    auto found = known_.find(id);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::map<uint32_t, Constant> known_;
};

/// Writes the older form, whose types do not say which factor a matrix is: a
/// scope of its own keeps each apart from the others.
class OlderForm {
public:
  explicit OlderForm(Module module) : module_(module) {}

  Words write() {
    if (module_.size() < headerWords)
      return {};
    out_.assign(module_.begin(), module_.begin() + headerWords);
    bool whole =
        forEachInstruction(module_, [this](uint32_t opcode, Module operands) {
          constants_.look(opcode, operands);
          rewrite(opcode, operands);
        });
    return whole ? std::move(out_) : Words();
  }

private:
  void rewrite(uint32_t opcode, Module operands);
  void rewriteType(Module operands);
  void rewriteAccess(uint32_t opcode, Module operands, size_t layout);
  void declareFalse();
  uint32_t newId() { return out_[boundWord]++; }
  void emit(uint32_t opcode, Module operands) {
    out_.push_back(uint32_t(operands.size() + 1) << 16 | opcode);
    out_.insert(out_.end(), operands.begin(), operands.end());
  }

  Module module_;
  Words out_;
  Constants constants_;
  uint32_t boolType_ = 0, false_ = 0;
};

void OlderForm::rewriteType(Module operands) {
  Words words(operands.begin(), operands.end() - 1);
  if (auto scope = constants_.find(operands[2])) {
    words[2] = newId();
    emit(OpConstant, Words{scope->type, words[2], scope->value});
  }
  emit(OpOlderTypeMatrix, words);
}

/// In place of a layout the older form has, behind the stride, whether lines
/// are columns.
void OlderForm::rewriteAccess(uint32_t opcode, Module operands, size_t layout) {
  Words words(operands.begin(), operands.begin() + layout);
  bool hasStride = operands.size() > layout + 1;
  words.push_back(operands[layout + hasStride]);
  words.push_back(false_);
  if (hasStride)
    words.insert(words.end(), operands.begin() + layout + 2, operands.end());
  emit(opcode, words);
}

void OlderForm::declareFalse() {
  if (!boolType_) {
    boolType_ = newId();
    emit(OpTypeBool, Words{boolType_});
  }
  false_ = newId();
  emit(OpConstantFalse, Words{boolType_, false_});
}

void OlderForm::rewrite(uint32_t opcode, Module operands) {
  constexpr size_t typeWords = 6, productWords = 5;
  if (opcode == OpTypeBool && !operands.empty())
    boolType_ = operands[0];
  if (opcode == OpFunction && !false_)
    declareFalse();
  if (opcode == OpCapability && operands.size() == 1 &&
      operands[0] == capabilityCooperativeMatrix)
    return emit(opcode, Words{capabilityOlderMatrix});
  if (opcode == OpExtension && operands.size_bytes() >= sizeof(extension) &&
      !std::memcmp(operands.data(), extension, sizeof(extension))) {
    Words text(sizeof(extension) / 4 + 1);
    std::memcpy(text.data(), olderExtension, sizeof(olderExtension));
    return emit(opcode, text);
  }
  if (opcode == OpTypeMatrix && operands.size() == typeWords)
    return rewriteType(operands);
  if (opcode == OpLoadMatrix && operands.size() > 3)
    return rewriteAccess(OpOlderLoadMatrix, operands, 3);
  if (opcode == OpStoreMatrix && operands.size() > 2)
    return rewriteAccess(OpOlderStoreMatrix, operands, 2);
  if (opcode == OpMulAddMatrix && operands.size() >= productWords)
    return emit(OpOlderMulAddMatrix, operands.first(productWords));
  emit(opcode == OpMatrixLength ? uint32_t(OpOlderMatrixLength) : opcode,
       operands);
}

/// One walk over the instructions of a module whose older form is valid.
class MatrixInspection {
public:
  explicit MatrixInspection(const PhysicalDevice &device) : device_(device) {}

  std::string inspect(Module module) {
    forEachInstruction(module, [this](uint32_t opcode, Module operands) {
      constants_.look(opcode, operands);
      look(opcode, operands);
    });
    return reason_;
  }

private:
  struct Type {
    uint32_t component, scope, rows, columns, role;
    auto operator<=>(const Type &) const = default;
  };

  void look(uint32_t opcode, Module operands);
  void lookAtType(Module operands);
  void lookAtProduct(Module operands);
  void lookAtLayout(uint32_t id);
  bool multiplies(const Type &a, const Type &b, const Type &sums) const;
  const Type *typeOf(uint32_t value) const {
    auto found = values_.find(value);
    return found == values_.end() ? nullptr : &types_.at(found->second);
  }
  void complain(const char *text) {
    if (reason_.empty())
      reason_ = text;
  }

  struct Scalar {
    bool isFloat;
    uint32_t bits;
  };

  const PhysicalDevice &device_;
  std::string reason_;
  Constants constants_;
  std::map<uint32_t, Scalar> scalars_;
  std::map<uint32_t, Type> types_;
  std::set<Type> seen_;
  std::map<uint32_t, uint32_t> values_; ///< types of matrices
};

void MatrixInspection::lookAtType(Module operands) {
  uint32_t numbers[4];
  for (size_t i = 0; i < std::size(numbers); ++i) {
    auto constant = constants_.find(operands[2 + i]);
    if (!constant)
      return complain("a matrix has a size that is no constant");
    numbers[i] = constant->value;
  }
  Type type = {operands[1], numbers[0], numbers[1], numbers[2], numbers[3]};
  if (type.scope != scopeSubgroup)
    complain("a matrix belongs to others than a subgroup");
  if (!seen_.insert(type).second)
    complain("two types of matrices are the same");
  types_[operands[0]] = type;
}

bool MatrixInspection::multiplies(const Type &a, const Type &b,
                                  const Type &sums) const {
  auto is = [&](uint32_t component, const Type &type) {
    auto scalar = scalars_.find(type.component);
    return scalar != scalars_.end() &&
           isComponent(component, scalar->second.isFloat, scalar->second.bits);
  };
  return std::any_of(device_.matrixShapes.begin(), device_.matrixShapes.end(),
                     [&](const MatrixShape &shape) {
                       return is(shape.factor, a) && is(shape.factor, b) &&
                              is(shape.sum, sums) && a.rows == shape.m &&
                              a.columns == shape.k && b.rows == shape.k &&
                              b.columns == shape.n && sums.rows == shape.m &&
                              sums.columns == shape.n;
                     });
}

void MatrixInspection::lookAtProduct(Module operands) {
  const Type *a = typeOf(operands[2]), *b = typeOf(operands[3]),
             *sums = typeOf(operands[4]);
  if (!a || !b || !sums || a->role != RoleA || b->role != RoleB ||
      sums->role != RoleSums || types_.at(operands[0]).role != RoleSums)
    return complain("a product is not one of A, B and sums");
  constexpr size_t most = 6;
  if (operands.size() > most ||
      (operands.size() == most && operands.back() & saturating))
    complain("a product saturates, or has too many operands");
  if (!multiplies(*a, *b, *sums))
    complain("the device does not list a product of the shader");
}

void MatrixInspection::lookAtLayout(uint32_t id) {
  auto layout = constants_.find(id);
  if (!layout || layout->value > columnMajor)
    complain("a matrix lies in memory neither by rows nor by columns");
}

void MatrixInspection::look(uint32_t opcode, Module operands) {
  if (opcode == OpTypeFloat || opcode == OpTypeInt)
    scalars_[operands[0]] = {opcode == OpTypeFloat, operands[1]};
  if (opcode >= OpOlderTypeMatrix && opcode <= OpOlderMatrixLength)
    complain("matrices have a form that the Vulkan driver does not turn on");
  if (opcode == OpTypeMatrix)
    lookAtType(operands);
  // No other operand in front is a type of matrices.
  if (operands.size() > 1 && types_.contains(operands[0]))
    values_[operands[1]] = operands[0];
  if (opcode == OpLoadMatrix)
    lookAtLayout(operands[3]);
  if (opcode == OpStoreMatrix)
    lookAtLayout(operands[2]);
  if (opcode == OpMulAddMatrix && reason_.empty())
    lookAtProduct(operands);
}

} // namespace

bool usesMatrices(Module module) {
  bool found = false;
  forEachInstruction(module, [&](uint32_t opcode, Module operands) {
    found |= opcode == OpCapability && !operands.empty() &&
             operands[0] == capabilityCooperativeMatrix;
  });
  return found;
}

Words withOlderMatrices(Module module) { return OlderForm(module).write(); }

std::string complaintOfMatrices(Module module, const ModuleUse &use,
                                const PhysicalDevice &device) {
  uint32_t size = use.subgroupSize ? use.subgroupSize : device.subgroupSize;
  if (!device.has("computeFullSubgroups") || !size ||
      use.workgroupSize[0] % size)
    return "the shader has matrices, but work-groups are not of full subgroups";
  return MatrixInspection(device).inspect(module);
}

} // namespace backplane::vulkan
