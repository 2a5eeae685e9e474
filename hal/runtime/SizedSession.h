// SPDX-License-Identifier: Apache-2.0
//
// SizedSession.h: a session of a target that is compiled anew for each set of
// sizes that calls give.
#ifndef BACKPLANE_RUNTIME_SIZEDSESSION_H
#define BACKPLANE_RUNTIME_SIZEDSESSION_H

#include "LoadedArtifact.h"
#include "Select.h"

#include <list>
#include <mutex>

namespace backplane::rt {

/// The first call with sizes that are new waits for the compiler, which has a
/// cache. Code for any sizes runs where that fails, and the log has the reason.
class SizedSession final : public AnySession {
public:
  /// What sizes are compiled for.
  struct Source {
    std::shared_ptr<const LoadedArtifact> artifact;
    SessionRequest request; ///< of one device, without the JIT
    std::string target;     ///< of the variant
  };
  /// `general` runs any sizes.
  SizedSession(std::shared_ptr<AnySession> general, Source source)
      : general_(std::move(general)), source_(std::move(source)) {}

  Status reset() override;
  uint64_t dispatchCount() const override;
  Result<std::vector<std::vector<int64_t>>>
  outputShapes(std::span<const bp_tensor_t> inputs) const override {
    return general_->outputShapes(inputs);
  }
  Result<std::vector<std::vector<int64_t>>>
  outputBounds(std::span<const bp_tensor_t> inputs) const override {
    return general_->outputBounds(inputs);
  }
  Result<std::unique_ptr<AnyCall>> begin(const CallTensors &tensors,
                                         bool callerWaits) override;
  const Signature &signature() const override { return general_->signature(); }
  ValueMemory *values() override { return general_->values(); }
  Trace *trace() const override { return general_->trace(); }

private:
  struct Sized {
    SymbolValues sizes;
    std::shared_ptr<AnySession> session;
  };
  std::shared_ptr<AnySession> sessionFor(const SymbolValues &sizes);
  Result<std::shared_ptr<AnySession>> make(const SymbolValues &sizes) const;

  std::shared_ptr<AnySession> general_;
  Source source_;
  mutable std::mutex mutex_; ///< guards everything below
  std::list<Sized> known_;   ///< latest use first
};

/// `general` itself, unless the target of the variant is one that is compiled
/// for sizes, the request wants the JIT, and the model has sizes that calls
/// give and no variables, whose values would be of one session only.
std::shared_ptr<AnySession>
withSizes(std::shared_ptr<AnySession> general,
          const std::shared_ptr<const LoadedArtifact> &artifact,
          const SessionRequest &request, Selection &selection);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SIZEDSESSION_H
