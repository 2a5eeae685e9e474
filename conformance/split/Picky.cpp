// SPDX-License-Identifier: Apache-2.0
//
// A plug-in that takes only some ops, for tests of variants on several devices:
// target "picky" compiles for the reference device and refuses the ops that
// BP_PICKY_REFUSES lists ("add,matmul"); "picky-claims" says so beforehand,
// when it is asked for a claim.
#include "backplane/compiler.h"
#include "backplane/plugin.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

struct Self {
  const bp_host_t *host = nullptr;
  const bp_plugin_table_t *plugin = nullptr;
  const bp_compiler_table_t *compiler = nullptr;
  void *inner = nullptr;
};

bp_string_t text(const char *data) { return {data, std::strlen(data)}; }

bp_status_t fail(const Self &self, bp_error_t *error, const std::string &why) {
  return self.host->error_set(self.host->self, error, BP_STATUS_UNIMPLEMENTED,
                              {why.data(), why.size()});
}

/// The first op of the graph that is on the list; empty when none is.
std::string refused(const bp_graph_t *graph, const bp_graph_table_t *table) {
  const char *variable = std::getenv("BP_PICKY_REFUSES");
  std::string list = "," + std::string(variable ? variable : "") + ",";
  bp_graph_info_t info = {};
  table->graph_info(graph, &info);
  for (uint32_t i = 0; i < info.op_count; ++i) {
    bp_op_info_t op = {};
    table->op_info(graph, i, &op);
    std::string name(op.name.data, op.name.size);
    if (list.find("," + name + ",") != std::string::npos)
      return name;
  }
  return {};
}

struct Renamed {
  const bp_target_sink_t &sink;

  static bp_status_t put(void *context, const bp_target_t *target) {
    auto &sink = static_cast<Renamed *>(context)->sink;
    bp_target_t copy = *target;
    for (const char *name : {"picky", "picky-claims"}) {
      copy.name = text(name);
      if (bp_status_t status = sink.put(sink.context, &copy))
        return status;
    }
    return BP_STATUS_OK;
  }
};

bp_status_t targets(void *pointer, const bp_target_sink_t *sink,
                    bp_error_t *error) {
  auto &self = *static_cast<Self *>(pointer);
  Renamed renamed{*sink};
  bp_target_sink_t inside = {&Renamed::put, &renamed};
  return self.compiler->targets(self.inner, &inside, error);
}

bp_status_t claim(void *pointer, bp_string_t target, const bp_graph_t *graph,
                  const bp_graph_table_t *table, bp_claim_t *out,
                  bp_error_t *error) {
  auto &self = *static_cast<Self *>(pointer);
  std::string op =
      target.size > std::strlen("picky") ? refused(graph, table) : "";
  if (op.empty())
    return self.compiler->claim(self.inner, text("ref"), graph, table, out,
                                error);
  std::string why = "picky does not like " + op;
  out->supported = 0;
  return out->reason->put(out->reason->context, {why.data(), why.size()});
}

bp_status_t compile(void *pointer, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *error) {
  auto &self = *static_cast<Self *>(pointer);
  if (std::string op = refused(request->graph, request->graph_table);
      !op.empty())
    return fail(self, error, "there is no " + op + " on this device");
  bp_compile_request_t copy = *request;
  copy.target = text("ref");
  return self.compiler->compile(self.inner, &copy, sink, error);
}

/// The reference plug-in, beside the folder of this one.
bool load(Self &self) {
  Dl_info here = {};
  if (!dladdr(reinterpret_cast<void *>(&targets), &here))
    return false;
  std::string folder = here.dli_fname;
  folder.resize(folder.rfind('/'));
  folder += "/../plugins/libbp-ref.so";
  void *library = dlopen(folder.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return false;
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(library, BP_PLUGIN_QUERY_SYMBOL));
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = host.minor_high = BP_ABI_MINOR;
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  if (!query || query(&host, &info) != BP_STATUS_OK)
    return false;
  self.plugin = info.plugin;
  self.compiler = info.compiler;
  return true;
}

bp_status_t initialize(const bp_host_t *host, const bp_options_t *options,
                       void **outSelf, bp_error_t *error) {
  auto *self = new Self{host};
  bp_status_t status =
      load(*self) ? self->plugin->initialize(host, options, &self->inner, error)
                  : fail(*self, error, "the reference plug-in does not load");
  if (status == BP_STATUS_OK)
    *outSelf = self;
  else
    delete self;
  return status;
}

void shutDown(void *pointer) {
  auto *self = static_cast<Self *>(pointer);
  self->plugin->shutdown(self->inner);
  delete self;
}

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t),
                                       &initialize, &shutDown};
const bp_compiler_table_t compilerTable = {BP_HEADER(bp_compiler_table_t),
                                           &targets,
                                           &claim,
                                           nullptr,
                                           &compile,
                                           nullptr};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = text("picky");
  info.vendor = text("Backplane");
  info.version = text("0.1.0");
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &pluginTable;
  info.compiler = &compilerTable;
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  std::memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
