// SPDX-License-Identifier: Apache-2.0
#include "Compiling.h"

namespace backplane::test {

Result<Context> compilerContext(const std::string &cache) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  const bp_string_t manifests[] = {
      toC(BP_PLUGINS "/host.bp.json"), toC(BP_PLUGINS "/ref.bp.json"),
      toC(BP_PLUGINS "/" BP_OWN_BACKEND ".bp.json")};
  options.plugin_files = manifests;
  options.plugin_file_count = 3;
  options.cache_dir = toC(cache);
  return createContext(options);
}

Result<Artifact> compileGraph(const Context &context, const Bytes &wire,
                              const char *driver) {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  options.driver = toC(driver);
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_compile_graph(context.get(), {wire.data(), wire.size()},
                                     nullptr, 0, &options, &out, error);
  });
  if (!status.ok())
    return status;
  return Artifact(out);
}

} // namespace backplane::test
