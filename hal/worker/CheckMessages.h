// SPDX-License-Identifier: Apache-2.0
//
// CheckMessages.h: what the fields of a message from a stranger must be beyond
// their types.
#ifndef BACKPLANE_WORKER_CHECKMESSAGES_H
#define BACKPLANE_WORKER_CHECKMESSAGES_H

#include "Messages.h"

namespace backplane::worker {

/// Of most messages, nothing.
template <typename T> Status check(const T &) { return {}; }
/// Devices have grids of three sizes.
Status check(const Hello &message);
/// Tensors have types that there are: these, results and compilations.
Status check(const RunMessage &message);
Status check(const ResultMessage &message);
Status check(const CompileMessage &message);
/// The mode is known and there is a round; its runs are checked too.
Status check(const BatchMessage &message);
/// As its results are.
Status check(const BatchedMessage &message);
/// There is one minimum and one maximum for each symbol.
Status check(const JobMessage &message);
/// It answers a run or a check, or is a failure.
Status check(const AnswerMessage &message);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_CHECKMESSAGES_H
