// SPDX-License-Identifier: Apache-2.0
//
// RemoteSession.h: a session on a device behind a worker. It takes and refuses
// the same inputs as a local one; tensors travel with each call.
#ifndef BACKPLANE_RUNTIME_REMOTESESSION_H
#define BACKPLANE_RUNTIME_REMOTESESSION_H

#include "AnySession.h"
#include "LoadedArtifact.h"
#include "hal/worker/Pool.h"

#include <atomic>

namespace backplane::rt {

/// A session whose worker was lost fails from then on; a new one starts the
/// worker again.
class RemoteSession final : public AnySession,
                            public std::enable_shared_from_this<RemoteSession> {
public:
  /// `variant` is one of the artifact, or OpenMessage::anyVariant.
  static Result<std::shared_ptr<RemoteSession>>
  create(std::shared_ptr<const LoadedArtifact> artifact, worker::Pool &pool,
         const worker::RemoteUri &uri, uint32_t variant, uint64_t budget);
  ~RemoteSession() override;

  Status reset() override;
  uint64_t dispatchCount() const override { return opened_.dispatches; }
  Result<std::vector<std::vector<int64_t>>>
  outputShapes(std::span<const bp_tensor_t> inputs) const override;
  Result<std::vector<std::vector<int64_t>>>
  outputBounds(std::span<const bp_tensor_t> inputs) const override;
  Result<std::unique_ptr<AnyCall>> begin(const CallTensors &tensors,
                                         bool callerWaits) override;
  const Signature &signature() const override { return artifact_->signature; }
  double remoteMilliseconds() const override { return milliseconds_; }

private:
  friend class RemoteCall;
  RemoteSession() = default;
  Status checkOutputs(std::span<const bp_tensor_t> inputs,
                      std::span<const bp_tensor_t> outputs) const;

  std::shared_ptr<const LoadedArtifact> artifact_;
  std::string hash_; ///< of the artifact
  std::shared_ptr<worker::Client> client_;
  worker::OpenedMessage opened_;
  std::atomic<double> milliseconds_{0};
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_REMOTESESSION_H
