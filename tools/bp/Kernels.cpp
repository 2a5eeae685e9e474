// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "backplane/compiler.h"
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/support/Joined.h"
#include "sdk/support/JsonString.h"
#include "sdk/support/ReadableText.h"

#include <cstdio>

namespace backplane {
namespace {

/// A kernel, or a set that could not be listed.
struct Line {
  std::string set, setVersion, refusal;
  std::string name, target, cost, text, ir;
  uint32_t version = 0;
  const char *body = ""; ///< "function", "code", "IR"
  size_t graphs = 0;     ///< choices of dtypes and optional inputs
  std::set<std::string> dtypes;
  std::vector<std::string> where;
};

/// What the text says, or why it cannot be read.
void readText(Line &line) {
  Result<KernelText> text = parseKernelText(line.text);
  if (!text) {
    line.refusal = text.message();
    return;
  }
  line.name = text->name;
  line.version = text->version;
  line.graphs = text->graphs.size();
  for (const KernelPredicate &predicate : text->where)
    line.where.push_back(predicate.text);
  for (const KernelGraph &one : text->graphs) {
    for (ValueId input : one.graph.inputs)
      line.dtypes.emplace(name(one.graph.type(input).dtype));
    for (const GraphOutput &output : one.graph.outputs)
      line.dtypes.emplace(name(one.graph.type(output.value).dtype));
  }
}

bp_status_t collect(void *context, const bp_kernel_listing_t *listing) {
  Line line;
  line.set = view(listing->plugin);
  line.setVersion = view(listing->version);
  line.refusal = view(listing->refusal);
  if (const bp_kernel_t *kernel = listing->kernel) {
    line.target = view(kernel->target);
    line.cost = view(kernel->cost);
    line.text = view(kernel->text);
    line.ir = view(kernel->ir);
    line.body = !kernel->body             ? "IR"
                : kernel->body->blob.size ? "code"
                                          : "function";
    readText(line);
  }
  static_cast<std::vector<Line> *>(context)->push_back(std::move(line));
  return BP_STATUS_OK;
}

void printLine(const Line &line, bool withText) {
  std::string title = readable(line.set, 400);
  if (!line.name.empty())
    title += "." + line.name + " version " + std::to_string(line.version);
  if (!line.refusal.empty()) {
    std::printf("%s: not used: %s\n", title.c_str(),
                readableMessage(line.refusal).c_str());
    return;
  }
  std::printf("%s: %s for %s, of %s", title.c_str(), line.body,
              readable(line.target, 400).c_str(),
              joined(line.dtypes, ", ").c_str());
  if (line.graphs > 1)
    std::printf(", %zu choices", line.graphs);
  if (!line.where.empty())
    std::printf(", where %s", readable(joined(line.where, ", "), 400).c_str());
  std::printf(", %s, set %s\n",
              line.cost.empty()
                  ? "preferred"
                  : ("cost " + readable(line.cost, 400) + " ns").c_str(),
              readable(line.setVersion, 400).c_str());
  if (withText)
    std::printf("%s\n%s", readableLines(line.text).c_str(),
                readableLines(line.ir).c_str());
}

std::string jsonList(const auto &texts) {
  return "[" + joined(texts, ", ", jsonString) + "]";
}

void printJson(const std::vector<Line> &lines) {
  std::printf("[");
  for (const Line &line : lines)
    std::printf(
        "%s\n  {\"set\": %s, \"set_version\": %s, \"name\": %s, \"version\": "
        "%u, \"target\": %s, \"body\": \"%s\", \"cost\": %s, \"dtypes\": %s, "
        "\"choices\": %zu, \"where\": %s, \"text\": %s, \"ir\": %s, "
        "\"refusal\": %s}",
        &line == lines.data() ? "" : ",", jsonString(line.set).c_str(),
        jsonString(line.setVersion).c_str(), jsonString(line.name).c_str(),
        line.version, jsonString(line.target).c_str(), line.body,
        jsonString(line.cost).c_str(), jsonList(line.dtypes).c_str(),
        line.graphs, jsonList(line.where).c_str(),
        jsonString(line.text).c_str(), jsonString(line.ir).c_str(),
        jsonString(line.refusal).c_str());
  std::printf("\n]\n");
}

} // namespace

int runKernels(const KernelsOptions &options) {
  Result<Context> context = openContext(0);
  if (!context)
    return fail(context.status());
  std::vector<Line> lines;
  bp_kernel_listing_sink_t sink = {collect, &lines};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_kernels(context->get(), &sink, error);
  });
  if (!status.ok())
    return fail(status);
  if (options.json) {
    printJson(lines);
    return 0;
  }
  for (const Line &line : lines)
    printLine(line, options.text);
  if (lines.empty())
    std::printf("no registered kernel\n");
  return 0;
}

} // namespace backplane
