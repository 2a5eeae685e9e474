// SPDX-License-Identifier: Apache-2.0
//
// ValueSlots.h: the slots of the values of `main`, on each device that needs
// them.
#ifndef BACKPLANE_SCHEDULE_VALUESLOTS_H
#define BACKPLANE_SCHEDULE_VALUESLOTS_H

#include "sdk/schedule/Schedule.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace backplane {

/// The number of a slot in its program.
using SlotId = uint32_t;

/// What a value is before anything moved or ran: the end of its reshapes, and
/// of the reads, whose result is what they read.
mlir::Value rootOf(mlir::Value value);
/// Bytes of a value that is a tensor.
Dim bytesOf(mlir::Value value);
/// All of a slot.
inline SlotRange wholeSlot(SlotId slot) {
  return {slot, std::nullopt, std::nullopt};
}

/// Builds one program: its slots by what they name, its commands.
class ProgramBuilder {
public:
  explicit ProgramBuilder(Program &program) : program_(program) {}

  SlotId slot(SlotKind kind, uint32_t index, Dim bytes, unsigned device) {
    auto [at, fresh] = slots_.emplace(std::tuple(kind, index, device),
                                      SlotId(program_.slots.size()));
    if (fresh || kind == SlotKind::Transient) {
      at->second = SlotId(program_.slots.size());
      program_.slots.push_back({.kind = kind,
                                .index = index,
                                .bytes = std::move(bytes),
                                .device = uint8_t(device)});
    }
    return at->second;
  }

  size_t add(program::Command command) {
    program_.commands.push_back(std::move(command));
    return program_.commands.size() - 1;
  }

private:
  Program &program_;
  std::map<std::tuple<SlotKind, uint32_t, unsigned>, SlotId> slots_;
};

/// Gives values their slots in both programs of a schedule. What a device needs
/// from another one is copied when it is first asked for.
class ValueSlots {
public:
  /// `weights` are the ids that slots number; those that are new are appended.
  ValueSlots(mlir::ModuleOp module, std::vector<std::string> &weights,
             uint32_t firstConstant, Schedule &schedule);

  /// Looks at all of `main`, before anything else is asked: where variables
  /// lie, which calls run once, which values are outputs.
  void prepare(mlir::func::FuncOp main);

  /// Whether an op runs once, in the init program.
  bool isInit(mlir::Operation *op) const { return initCalls_.contains(op); }
  /// What a call calls.
  mlir::func::FuncOp calleeOf(mlir::func::CallOp call) const;
  /// The device where a value comes to be; the first one when that is anywhere.
  unsigned owningDevice(mlir::Value value) const;

  /// Where the value is on a device; brings it there.
  Result<SlotId> slotOf(mlir::Value value, bool init, unsigned device);
  /// Where the op that makes it puts a value.
  SlotId resultSlot(mlir::Value value, bool init);
  /// The output that is the place of a value, which is the end of its reshapes.
  std::optional<uint32_t> outputOf(mlir::Value root) const;

  /// A variable of the graph.
  struct Variable {
    uint32_t index;
    unsigned device; ///< where it lies
  };
  Result<Variable> variable(llvm::StringRef name) const;

  ProgramBuilder &builder(bool init) { return init ? init_ : program_; }
  void addCopy(SlotId source, SlotId target, bool init = false);
  /// The number after those of all constants.
  uint32_t constants() const;

private:
  void findVariables(mlir::func::FuncOp main);
  void findInitCalls(mlir::func::FuncOp main);
  void assignOutputs(mlir::func::ReturnOp end);
  SlotId weightSlot(ProgramBuilder &builder, bp::WeightOp weight,
                    unsigned device);
  SlotId transfer(mlir::Value value, SlotId source, bool init, unsigned device);
  SlotId copyConstant(mlir::Value value, bool init, unsigned device);

  mlir::ModuleOp module_;
  mlir::SymbolTable functions_;
  std::vector<std::string> &weights_;
  llvm::StringMap<uint32_t> weightNumbers_;
  uint32_t firstConstant_;
  std::vector<std::string> &report_;
  ProgramBuilder program_, init_;
  std::map<std::string, Variable, std::less<>> variables_;
  llvm::DenseSet<mlir::Operation *> initCalls_;
  llvm::DenseMap<mlir::Value, uint32_t> outputOf_;
  /// Constants by the value and the device where it is needed.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, uint32_t> constantOf_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, SlotId> transfers_;
  llvm::DenseMap<mlir::Value, SlotId> resultSlots_;
  llvm::DenseMap<mlir::Value, SlotId> initSlots_;
};

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_VALUESLOTS_H
