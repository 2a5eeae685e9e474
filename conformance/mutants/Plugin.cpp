// SPDX-License-Identifier: Apache-2.0
//
// The plug-in of mutants: the one that BACKPLANE_MUTANT names is its one device
// and its one target. Without that variable it has none. Thresholds are drawn
// from BACKPLANE_MUTANT_SEED.
#include "Tables.h"

#include <cstdlib>
#include <cstring>

using namespace backplane;
using namespace backplane::mutants;

namespace {

const Mutant *chosenMutant() {
  const char *id = secure_getenv("BACKPLANE_MUTANT");
  return id ? findMutant(id) : nullptr;
}

/// As a library does that was built with -ffast-math.
__attribute__((constructor)) void whenLoaded() {
  const Mutant *mutant = chosenMutant();
  if (mutant && mutant->moment == Moment::Load)
    mutant->touch();
}

uint64_t chosenSeed() {
  const char *seed = secure_getenv("BACKPLANE_MUTANT_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 0;
}

bp_status_t initialize(const bp_host_t *host, const bp_options_t *options,
                       void **outSelf, bp_error_t *error) {
  Result<const Inner *> reference = inner();
  if (!reference)
    return host->error_set(host->self, error, reference.code(),
                           toC(reference.message()));
  const Mutant *mutant = chosenMutant();
  if (mutant && mutant->moment == Moment::Initialize)
    mutant->touch();
  auto *self = new PluginSelf{host, *reference, nullptr, mutant, chosenSeed()};
  bp_status_t status =
      self->inner->plugin->initialize(host, options, &self->innerSelf, error);
  if (status != BP_STATUS_OK)
    delete self;
  else
    *outSelf = self;
  return status;
}

void shutDown(void *pointer) {
  auto *self = static_cast<PluginSelf *>(pointer);
  self->inner->plugin->shutdown(self->innerSelf);
  delete self;
}

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t),
                                       &initialize, &shutDown};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = toC("mutant");
  info.vendor = toC("Backplane");
  info.version = toC("0.1.0");
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &pluginTable;
  info.driver = &driverTable;
  info.memory = &memoryTable;
  info.executable = &executableTable;
  info.queue = &queueTable;
  info.compiler = &compilerTable;
  const Mutant *mutant = chosenMutant();
  bool overruns = mutant && mutant->fault == Fault::StructOverrun;
  if (!overruns && info.header.size > out->header.size)
    info.header.size = out->header.size;
  std::memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
