// SPDX-License-Identifier: Apache-2.0
//
// Describe.cpp: an artifact in words.
#include "LoadedArtifact.h"
#include "Selection.h"
#include "sdk/package/Check.h"

namespace backplane::rt {
namespace {

std::string line(std::string_view key, std::string_view value) {
  return std::string(key) + ": " + std::string(value) + "\n";
}

std::string portText(const char *kind, const Port &port) {
  return std::string(kind) + " " + port.name + ": " + port.type.str() + "\n";
}

std::string checkText(const fb::Check &check) {
  return "check: " + std::string(text(check.lhs())) +
         " == " + std::string(text(check.rhs())) + " (" +
         std::string(text(check.message())) + ")\n";
}

std::string signatureText(const fb::Artifact &metadata,
                          const Signature &signature) {
  std::string out;
  for (const Port &port : signature.inputs())
    out += portText("input", port);
  for (const Port &port : signature.outputs())
    out += portText("output", port);
  for (uint32_t i = 0; i < count(metadata.symbols()); ++i) {
    const fb::SymbolInfo &symbol = *metadata.symbols()->Get(i);
    out += "symbol " + std::string(text(symbol.name())) + ": from " +
           std::to_string(symbol.minimum());
    if (symbol.maximum() != INT64_MAX)
      out += " to " + std::to_string(symbol.maximum());
    if (symbol.divisor() != 1)
      out += ", a multiple of " + std::to_string(symbol.divisor());
    out += "\n";
  }
  for (uint32_t i = 0; i < count(metadata.checks()); ++i)
    out += checkText(*metadata.checks()->Get(i));
  for (uint32_t i = 0; i < count(metadata.variables()); ++i)
    out += "variable " +
           std::string(text(metadata.variables()->Get(i)->type()->name())) +
           "\n";
  return out;
}

std::string dispatchText(uint32_t index, const fb::Dispatch &dispatch,
                         const fb::Variant &variant) {
  const fb::Entry &entry = *variant.executables()
                                ->Get(dispatch.executable())
                                ->entries()
                                ->Get(dispatch.entry());
  std::string out = "  " + std::to_string(index) + " dispatch " +
                    std::string(text(dispatch.name())) + " grid (";
  for (uint32_t i = 0; i < 3; ++i)
    out += (i ? ", " : "") + std::string(text(dispatch.grid()->Get(i)));
  out += ") entry " + std::string(text(entry.name())) + ":";
  for (uint32_t i = 0; i < count(dispatch.ops()); ++i)
    out += (i ? "; " : " ") + std::string(text(dispatch.ops()->Get(i)));
  return out + "\n";
}

std::string numbersText(const flatbuffers::Vector<uint32_t> *numbers) {
  std::string out;
  for (uint32_t i = 0; i < count(numbers); ++i)
    out += (i ? ", " : "") + std::to_string(numbers->Get(i));
  return out;
}

std::string controlText(uint32_t index, const fb::Control &control) {
  std::string out = "  " + std::to_string(index) + " ";
  if (control.kind() == fb::ControlKind::If) {
    out += "if";
    if (!text(control.condition()).empty())
      out += " " + std::string(text(control.condition())) + " != 0";
  } else {
    out += control.conditional() ? "while" : "repeat";
    if (!text(control.limit()).empty())
      out += " " + std::string(text(control.limit())) + " times";
    out += ", carries " + std::to_string(control.carried());
  }
  return out + ", region " + numbersText(control.regions()) + ": " +
         std::string(text(control.op())) + "\n";
}

std::string programText(const fb::Program &program,
                        const fb::Variant &variant) {
  std::string out;
  for (uint32_t i = 0; i < count(program.commands()); ++i) {
    const fb::Command &command = *program.commands()->Get(i);
    if (const auto *dispatch = command.body_as_Dispatch())
      out += dispatchText(i, *dispatch, variant);
    else if (const auto *control = command.body_as_Control())
      out += controlText(i, *control);
    else if (command.body_type() != fb::CommandBody::Barrier)
      out += "  " + std::to_string(i) + " " +
             fb::EnumNameCommandBody(command.body_type()) + "\n";
  }
  return out;
}

std::string arenaText(const fb::Program &program) {
  return program.arena_bytes() >= 0
             ? std::to_string(program.arena_bytes()) + " bytes"
             : "planned when the shapes are known";
}

std::string regionText(uint32_t number, const fb::Region &region,
                       const fb::Variant &variant) {
  std::string out = " region " + std::to_string(number) + ": " +
                    std::string(text(region.name()));
  if (!text(region.iteration()).empty())
    out += ", counts in " + std::string(text(region.iteration()));
  out += ", arena " + arenaText(*region.program()) + "\n";
  for (uint32_t i = 0; i < count(region.checks()); ++i)
    out += checkText(*region.checks()->Get(i));
  return out + programText(*region.program(), variant);
}

std::string variantText(const fb::Variant &variant) {
  std::string out = "variant " + std::string(text(variant.target())) +
                    ": driver " + std::string(text(variant.driver())) +
                    ", format " + std::string(text(variant.format())) +
                    ", rank " + std::to_string(variant.rank());
  for (uint32_t i = 0; i < count(variant.required_features()); ++i)
    out += (i ? ", " : ", needs ") +
           std::string(text(variant.required_features()->Get(i)));
  uint64_t code = 0;
  for (uint32_t i = 0; i < count(variant.executables()); ++i)
    code += count(variant.executables()->Get(i)->blob());
  out += "\n " + std::to_string(count(variant.executables())) +
         " executables with " + std::to_string(code) + " bytes\n arena " +
         arenaText(*variant.program()) + "\n";
  if (variant.init() && count(variant.init()->commands()))
    out += " init program, once per session\n" +
           programText(*variant.init(), variant);
  out += " program\n" + programText(*variant.program(), variant);
  for (uint32_t i = 0; i < count(variant.regions()); ++i)
    out += regionText(i, *variant.regions()->Get(i), variant);
  return out;
}

} // namespace

std::string describe(const LoadedArtifact &artifact) {
  const fb::Artifact &metadata = artifact.file->metadata();
  std::string out =
      line("artifact", artifact.file->path()) +
      line("model", text(metadata.model())) +
      line("producer", text(metadata.producer())) +
      signatureText(metadata, artifact.signature) +
      line("weights", std::to_string(count(metadata.weights())) + " with " +
                          std::to_string(artifact.file->weights().size()) +
                          " bytes");
  for (uint32_t i = 0; i < count(metadata.variants()); ++i)
    out += variantText(*metadata.variants()->Get(i));
  return out;
}

std::string explain(const LoadedArtifact &artifact) {
  const fb::Artifact &metadata = artifact.file->metadata();
  std::string out;
  for (const DeviceListing &device : artifact.registry->listings()) {
    if (!device.info)
      continue;
    if (!device.refusal.empty()) {
      out += device.uri + ": cannot be used: " + device.refusal + "\n";
      continue;
    }
    Selection selection;
    selection.policy = device.uri;
    selection.candidates = rankVariants(metadata, device.uri, device.info);
    choose(selection);
    out += device.uri + ": " +
           (selection.chosen() ? selection.line()
                               : selection.failure().message()) +
           "\n";
  }
  for (uint32_t i = 0; i < count(metadata.variants()); ++i) {
    const fb::Variant &variant = *metadata.variants()->Get(i);
    out += "variant " + std::string(text(variant.target())) + "\n";
    for (uint32_t j = 0; j < count(variant.report()); ++j)
      out += "  " + std::string(text(variant.report()->Get(j))) + "\n";
  }
  return out;
}

} // namespace backplane::rt
