// SPDX-License-Identifier: Apache-2.0
#include "Models.h"

#include <cstring>
#include <fstream>
#include <stdlib.h>

namespace backplane::test {

using namespace sample;

Folder::Folder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "bp-runtime-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

Bytes floats(std::vector<float> values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

fb::VariantT &Draft::addVariant(std::string target, uint32_t rank) {
  std::ifstream in(BP_TEST_KERNELS, std::ios::binary);
  Bytes blob(std::istreambuf_iterator<char>(in), {});
  auto variant = std::make_unique<fb::VariantT>();
  variant->target = std::move(target);
  variant->driver = "host";
  variant->format = hostFormat;
  variant->rank = rank;
  const std::string &format = variant->format;
  auto &list = variant->executables;
  list.push_back(executable(format, blob, "add", {1, 2}, 1));
  list.push_back(executable(format, blob, "multiply", {1, 1, 2}, 1));
  list.push_back(executable(format, blob, "count", {1, 3, 2}, 0));
  variant->program = std::make_unique<fb::ProgramT>();
  artifact.variants.push_back(std::move(variant));
  return *artifact.variants.back();
}

void Draft::addSymbol(std::string name, int64_t minimum, int64_t maximum,
                      int64_t divisor) {
  auto symbol = std::make_unique<fb::SymbolInfoT>();
  symbol->name = std::move(name);
  symbol->minimum = minimum;
  symbol->maximum = maximum;
  symbol->divisor = divisor;
  artifact.symbols.push_back(std::move(symbol));
}

void Draft::addVariable(std::string name, std::vector<std::string> dims,
                        int32_t initial) {
  auto variable = std::make_unique<fb::VariableInfoT>();
  variable->type = tensor(std::move(name), DType::F32, std::move(dims));
  variable->initial = initial;
  artifact.variables.push_back(std::move(variable));
}

uint32_t addRows(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  draft.addSymbol("n", 0, 1000);
  a.inputs.push_back(tensor("x", DType::F32, {"n", "4"}));
  a.outputs.push_back(tensor("y", DType::F32, {"n", "4"}));
  return addWeight(a, draft.pool, floats({1, 2, 3, 4}));
}

void affine(Draft &draft) {
  uint32_t w = addRows(draft);
  fb::ProgramT &p = *draft.addVariant("toy", 1).program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0, "16*n"));
  p.slots.push_back(slot(fb::SlotKind::Output, 0, "16*n"));
  p.slots.push_back(slot(fb::SlotKind::Weight, w));
  p.slots.push_back(transient("16*n", 0, 2));
  p.slots.push_back(transient("16*n", 2, 4, -1, 3));
  p.commands.push_back(dispatch(0, {"4*n", "1", "1"}, {"3"}, {0, 3}));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(0, {"4*n", "1", "1"}, {"4"}, {3, 4}));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(1, {"4*n", "1", "1"}, {"4"}, {4, 2, 1}));
}

void fixed(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"8"}));
  a.outputs.push_back(tensor("y", DType::F32, {"8"}));
  fb::ProgramT &p = *draft.addVariant("toy", 1).program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(transient("32", 0, 2, 64));
  p.arena_bytes = 128;
  p.commands.push_back(dispatch(0, {"8", "1", "1"}, {"2"}, {0, 2}));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(0, {"8", "1", "1"}, {"3"}, {2, 1}));
}

void counter(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"1"}));
  a.outputs.push_back(tensor("y", DType::F32, {"1"}));
  uint32_t w = addWeight(a, draft.pool, floats({10}));
  draft.addVariable("total", {"1"}, int32_t(w));
  draft.addVariable("unused", {"100000"}, -1);
  fb::ProgramT &p = *draft.addVariant("toy", 1).program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(slot(fb::SlotKind::Variable, 0));
  p.commands.push_back(dispatch(2, {"1", "1", "1"}, {}, {0, 2, 1}));
}

void packed(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"4"}));
  a.outputs.push_back(tensor("y", DType::F32, {"4"}));
  uint32_t w = addWeight(a, draft.pool, floats({1, 2, 3, 4}));
  fb::VariantT &variant = draft.addVariant("toy", 1);
  variant.init = std::make_unique<fb::ProgramT>();
  fb::ProgramT &init = *variant.init;
  init.slots.push_back(slot(fb::SlotKind::Weight, w));
  init.slots.push_back(transient("16", 0, 2));
  init.slots.push_back(slot(fb::SlotKind::Constant, 5, "16"));
  init.commands.push_back(copy(0, 1));
  init.commands.push_back(barrier());
  init.commands.push_back(dispatch(0, {"4", "1", "1"}, {"1"}, {1, 2}));
  fb::ProgramT &p = *variant.program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(slot(fb::SlotKind::Constant, 5, "16"));
  p.commands.push_back(dispatch(1, {"4", "1", "1"}, {"4"}, {0, 2, 1}));
}

Context hostContext() {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  bp_string_t manifest = toC(BP_HOST_MANIFEST);
  options.plugin_files = &manifest;
  options.plugin_file_count = 1;
  options.cache_dir = toC("-");
  options.threads = 2;
  auto context = createContext(options);
  if (!context)
    fprintf(stderr, "%s\n", context.message().c_str());
  return context ? std::move(*context) : nullptr;
}

Status write(Draft &draft, const std::string &path) {
  return sample::write(path, draft.artifact, draft.pool);
}

Result<Artifact> open(const Context &context, Draft &draft,
                      const std::string &path) {
  if (Status s = write(draft, path); !s.ok())
    return s;
  return openArtifact(context, path);
}

Floats::Floats(std::vector<int64_t> dims, float value) : dims(std::move(dims)) {
  int64_t count = 1;
  for (int64_t dim : this->dims)
    count *= dim;
  values.assign(size_t(count), value);
}

bp_tensor_t Floats::c() {
  return {values.data(), dims.data(), values.size() * sizeof(float),
          BP_DTYPE_F32, uint32_t(dims.size())};
}

} // namespace backplane::test
