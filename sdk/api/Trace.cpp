// SPDX-License-Identifier: Apache-2.0
//
// FacadeTrace.cpp: the traces of backplane.h.
#include "Arguments.h"
#include "Handles.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TextViews.h"

#include <filesystem>
#include <unistd.h>

using namespace backplane;
using namespace backplane::rt;

static Status checkPlace(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  if (path.empty() || access(folder.c_str(), W_OK) != 0)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "trace file '" + path + "': no file can be made in '" +
                      folder.string() + "'");
  return checkOutput(path);
}

bp_status_t bp_context_trace_begin(bp_context_t *context, bp_string_t path,
                                   bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isText(path, "path")}); !s.ok())
      return s;
    std::string name(view(path));
    if (Status s = checkPlace(name); !s.ok())
      return s;
    std::lock_guard lock(context->traceMutex);
    if (!context->registry->host().beginTrace())
      return Status(BP_STATUS_FAILED_PRECONDITION,
                    "a trace is on already, to '" + context->tracePath +
                        "'; end it first");
    context->tracePath = std::move(name);
    return {};
  });
}

bp_status_t bp_context_trace_end(bp_context_t *context, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = isHandle(context); !s.ok())
      return s;
    std::lock_guard lock(context->traceMutex);
    Trace *trace = context->registry->host().endTrace();
    if (!trace)
      return Status(BP_STATUS_FAILED_PRECONDITION, "no trace is on");
    std::string text = trace->json();
    return writeFileAtomically(context->tracePath, asBytes(text));
  });
}
