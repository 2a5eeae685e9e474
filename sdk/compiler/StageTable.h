// SPDX-License-Identifier: Apache-2.0
//
// StageTable.h: the stages of the compiler in the order in which data passes
// through them. Dumps, errors, traces and docs/reference/stages.md have their
// names from here.
#ifndef BACKPLANE_COMPILER_STAGETABLE_H
#define BACKPLANE_COMPILER_STAGETABLE_H

#include <array>
#include <string_view>

namespace backplane {

/// What a pipeline that a plug-in gives for a stage runs on.
enum class PipelineScope {
  None,    ///< nothing: the stage takes no pipeline
  Program, ///< a module with `main`, of a program that one target runs
  Dispatch ///< the module of a dispatch, where an emitter makes the code
};

/// A stage, as the reference page has it.
struct Stage {
  std::string_view name;
  std::string_view code;  ///< the pass or function
  std::string_view entry; ///< what it takes
  std::string_view exit;  ///< what it leaves
  PipelineScope pipelines = PipelineScope::None;
};

namespace stage {

inline constexpr Stage decompose = {
    "decompose", "`backplane::decompose`, `widenFloats`", "a verified graph",
    "composites only where the backend claims them; casts around ops of "
    "floats that the target holds and does not compute in"};
inline constexpr Stage import = {
    "import", "`bp::importGraph`", "that graph",
    "a module: `func.func @main` of `bp` ops, tables as attributes",
    PipelineScope::Program};
inline constexpr Stage optimize = {
    "optimize",
    "`bp-forward-variables`, `bp-simplify`, `cse`, `bp-table-lookup`, "
    "`bp-fold-scales`, `bp-outline-constants`, `bp::foldConstants`",
    "as after import",
    "the same form; nothing but weights, constants, and what grows when "
    "computed, depends on weights alone",
    PipelineScope::Program};
inline constexpr Stage partition = {
    "partition", "`partition` of plug-ins, `backplane::assignDevices`",
    "as after optimize, several targets or a plug-in with partitions",
    "ops have `bp.device`: which target runs them; without it the first; those "
    "of a partition have `bp.kernel`",
    PipelineScope::Program};
inline constexpr Stage kernels = {
    "kernels", "`bp::matchKernels`, as `bp-match-kernels`",
    "as after partition, targets with registered kernels",
    "ops that a kernel computes have `bp.kernel`: which one, and with which "
    "others"};
inline constexpr Stage layout = {
    "layout", "`bp-choose-layouts`", "as after import",
    "products and convolutions read bytes and blocks of known weights where "
    "the target takes them",
    PipelineScope::Program};
inline constexpr Stage fusion = {
    "fusion",
    "`bp-move-tables` if a target's code has no memory for constants, "
    "`bp-form-dispatches`",
    "as after import",
    "`main` has calls, weights, reshapes, variables; a function for each "
    "dispatch; `bp.report`"};
inline constexpr Stage schedule = {
    "schedule", "`backplane::schedule`", "as after fusion",
    "slots, commands, barriers, places; an init program"};
inline constexpr Stage lower = {
    "lower", "`bp-lower-to-linalg`", "a module with one dispatch",
    "linalg on tensors, see `sdk/lower/README.md`", PipelineScope::Dispatch};
inline constexpr Stage tile = {
    "tile", "the target's pipeline", "as after lower",
    "loops of work-groups on tensors or memrefs, see `sdk/emit/README.md`",
    PipelineScope::Dispatch};
inline constexpr Stage bufferize = {"bufferize", "the target's pipeline",
                                    "as after tile", "memrefs only",
                                    PipelineScope::Dispatch};
inline constexpr Stage device = {
    "device", "the target's pipeline", "as after bufferize",
    "one LLVM function, or one SPIR-V module", PipelineScope::Dispatch};
inline constexpr Stage emit = {
    "emit", "`compileDispatch` with the target's `Emitter`", "as after device",
    "an object or a module for each kernel"};
inline constexpr Stage link = {"link", "`Emitter::link`", "objects of a target",
                               "one image for each variant"};
inline constexpr Stage package = {"package", "`writeArtifact`", "all variants",
                                  "a `.bpx` file"};

} // namespace stage

inline constexpr std::array stages = {
    &stage::decompose, &stage::import, &stage::optimize,  &stage::partition,
    &stage::kernels,   &stage::layout, &stage::fusion,    &stage::schedule,
    &stage::lower,     &stage::tile,   &stage::bufferize, &stage::device,
    &stage::emit,      &stage::link,   &stage::package};

/// Null: there is none of this name.
constexpr const Stage *findStage(std::string_view name) {
  for (const Stage *stage : stages)
    if (stage->name == name)
      return stage;
  return nullptr;
}

} // namespace backplane

#endif // BACKPLANE_COMPILER_STAGETABLE_H
