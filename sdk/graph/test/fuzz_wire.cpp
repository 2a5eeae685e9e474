// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer entry: any bytes as a wire graph, and as the text of a dim.
#include "sdk/graph/Wire.h"

#include <cstdlib>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (Result<Dim> dim = Dim::parse(text)) {
    Result<Dim> again = Dim::parse(dim->str());
    if (!again || !(*again == *dim))
      std::abort();
  }
  if (Result<Graph> graph = readGraph({data, size})) {
    Result<Graph> again = readGraph(writeGraph(*graph));
    if (!again || !(*again == *graph))
      std::abort();
  }
  return 0;
}
