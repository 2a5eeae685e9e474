// SPDX-License-Identifier: Apache-2.0
//
// Loop.h: what both workers do around their requests.
#ifndef BACKPLANE_WORKER_LOOP_H
#define BACKPLANE_WORKER_LOOP_H

#include "Messages.h"
#include "Serve.h"
#include "backplane/cpp/Backplane.h"

#include <functional>
#include <memory>

namespace backplane::worker {

/// Several parts of a process may use one context.
using SharedContext = std::shared_ptr<const Context>;

/// What takeEnvironment took for this process, before any plug-in was loaded.
const bp_context_options_t &takenEnvironment();

/// The worker's context: no cache unless the options name a folder for it, a
/// log on standard error. `plugins` are all that it may load; none: all that
/// are found.
Result<Context> openWorkerContext(const WorkerOptions &options,
                                  const std::vector<std::string> &plugins = {});

/// Names of the sets of kernels in a greeting, each once.
std::vector<std::string> setsOf(const Hello &hello);

/// Puts what manifests say of some plug-ins into a greeting: their files with
/// hashes, those left out that cannot be read, and the least budget.
void describePlugins(const std::vector<std::string> &names, Hello &hello);

/// What HELLO says of the product, the machine and all its devices.
Result<Hello> describeMachine(const Context &context);
/// The same, and what it says of one device, and of the target that compiling
/// for its driver takes when this process has compiler plug-ins; the registered
/// kernels are those of this target.
/// With a `target`, it is the target that is described, whatever the device.
Result<Hello> describeDevice(const Context &context, const std::string &device,
                             const std::string &target = "");

/// Sends an answer of `serve`'s handler that cannot return, and ends this
/// process at once: nothing is taken down.
[[noreturn]] void answerAndLeave(const Frame &answer);

/// Answers one request: fills type and payload of the answer.
using Handler = std::function<Status(const Frame &request, Frame &answer)>;

/// Answers COMPILE: compiles graphs for one target.
Handler compileHandler(SharedContext context, std::string target);

/// Takes standard input and output, says HELLO, answers until the tool closes.
/// `open` makes the context, the greeting and the handler.
int serve(const WorkerOptions &options,
          const std::function<Result<Handler>(Hello &greeting)> &open);
/// The same for an application: its options come with its first request.
int serveBegun(const std::function<Result<Handler>(const BeginMessage &begin,
                                                   Hello &greeting)> &open);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_LOOP_H
