// SPDX-License-Identifier: Apache-2.0
//
// bp-onnx MODEL… prints the imported graphs; bp-onnx --count MODEL… counts
// their ops.
#include "sdk/import/Import.h"

#include <cstdio>
#include <cstring>

using namespace backplane;

static int show(const char *path, bool counts) {
  Result<Model> model = importOnnx(path);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.message().c_str());
    return 1;
  }
  if (!counts) {
    std::fputs(model->graph.str().c_str(), stdout);
    return 0;
  }
  std::map<std::string, int> kinds;
  for (const Op &op : model->graph.ops)
    ++kinds[op.name];
  std::printf("%s: %zu ops, %zu weights, %zu assertions\n ", path,
              model->graph.ops.size(), model->weights.all().size(),
              model->graph.assertions.size());
  for (const auto &[name, count] : kinds)
    std::printf(" %s %d", name.c_str(), count);
  std::printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  bool counts = argc > 1 && std::strcmp(argv[1], "--count") == 0;
  int failures = 0;
  for (int i = counts ? 2 : 1; i < argc; ++i)
    failures += show(argv[i], counts);
  return failures != 0;
}
