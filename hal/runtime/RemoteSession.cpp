// SPDX-License-Identifier: Apache-2.0
#include "RemoteSession.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <cstring>

namespace backplane::rt {

using worker::FrameType;

namespace {

worker::WireTensor toWire(const bp_tensor_t &tensor) {
  const auto *data = static_cast<const uint8_t *>(tensor.data);
  return {tensor.dtype,
          {tensor.dims, tensor.dims + tensor.rank},
          {data, data + tensor.size}};
}

bool hasSymbolic(const bp_tensor_t &tensor) {
  return std::ranges::count(std::span(tensor.dims, tensor.rank),
                            BP_DIM_SYMBOLIC);
}

/// `isDecided`: data have decided its shape, which the application takes.
Status takeOutput(const worker::WireTensor &from, const bp_tensor_t &to,
                  bool isDecided, size_t index) {
  Result<uint64_t> bytes = denseBytes(DType(from.dtype), from.dims);
  bool fits = isDecided ? bytes && from.dims.size() == to.rank &&
                              from.data.size() == *bytes && *bytes <= to.size
                        : from.data.size() == to.size;
  if (from.dtype != to.dtype || !fits)
    return dataLoss("the worker gave output " + std::to_string(index) +
                    " with " + std::to_string(from.data.size()) +
                    " bytes, it has " + std::to_string(to.size));
  if (!from.data.empty())
    std::memcpy(to.data, from.data.data(), from.data.size());
  if (isDecided)
    std::ranges::copy(from.dims, const_cast<int64_t *>(to.dims));
  return {};
}

} // namespace

/// The answer is dropped when nobody waits for it.
class RemoteCall final : public AnyCall {
public:
  RemoteCall(std::shared_ptr<RemoteSession> session, uint64_t request,
             std::vector<bp_tensor_t> outputs)
      : session_(std::move(session)), request_(request),
        outputs_(std::move(outputs)) {
    for (const bp_tensor_t &output : outputs_)
      decided_.push_back(hasSymbolic(output));
  }
  ~RemoteCall() override { session_->client_->forget(request_); }

  bool done() const override { return session_->client_->answered(request_); }
  Status finish(std::unique_ptr<AnyCall> self) override;

private:
  std::shared_ptr<RemoteSession> session_;
  uint64_t request_;
  std::vector<bp_tensor_t> outputs_; ///< dims are looked at where decided
  std::vector<bool> decided_;        ///< by data
};

Status RemoteCall::finish(std::unique_ptr<AnyCall> self) {
  (void)self; // gone when this returns
  Result<worker::Frame> frame = session_->client_->wait(request_);
  if (!frame)
    return frame.status();
  if (frame->type != FrameType::Result)
    return dataLoss("the worker gave an answer of the wrong type");
  worker::ResultMessage result;
  if (Status s = decode(frame->payload, result); !s.ok())
    return s;
  session_->milliseconds_ = result.milliseconds;
  if (!result.damage.empty())
    return internalError(result.damage);
  if (result.outputs.size() != outputs_.size())
    return dataLoss("the worker gave " + std::to_string(result.outputs.size()) +
                    " outputs, the artifact has " +
                    std::to_string(outputs_.size()));
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (Status s = takeOutput(result.outputs[i], outputs_[i], decided_[i], i);
        !s.ok())
      return s;
  return {};
}

Result<std::shared_ptr<RemoteSession>>
RemoteSession::create(std::shared_ptr<const LoadedArtifact> artifact,
                      worker::Pool &pool, const worker::RemoteUri &uri,
                      uint32_t variant, uint64_t budget) {
  Result<std::shared_ptr<worker::Client>> client = pool.client(uri);
  if (!client)
    return client.status();
  std::shared_ptr<RemoteSession> session(new RemoteSession);
  std::span<const uint8_t> bytes = artifact->file->bytes();
  session->hash_ = hashBytes(bytes);
  if (Status s = (*client)->give(session->hash_, bytes); !s.ok())
    return s;
  auto opened = (*client)->ask(
      FrameType::Open,
      encode(worker::OpenMessage{session->hash_, budget, variant}),
      FrameType::Opened);
  if (!opened)
    return opened.status();
  if (Status s = worker::decode(*opened, session->opened_); !s.ok())
    return s;
  session->artifact_ = std::move(artifact);
  session->client_ = *client;
  std::string choice = "worker '" + uri.worker + "' (" +
                       (*client)->hello().machine +
                       "): " + session->opened_.choice;
  session->tell(choice, choice + "\n");
  return session;
}

RemoteSession::~RemoteSession() {
  if (!client_)
    return;
  auto request = client_->send(FrameType::Close,
                               encode(worker::SessionMessage{opened_.session}));
  if (request)
    client_->forget(*request);
}

Status RemoteSession::reset() {
  return client_
      ->ask(FrameType::Reset, encode(worker::SessionMessage{opened_.session}),
            FrameType::Ready)
      .status();
}

Result<std::vector<std::vector<int64_t>>>
RemoteSession::outputShapes(std::span<const bp_tensor_t> inputs) const {
  return artifact_->signature.outputShapes(inputs);
}

Result<std::vector<std::vector<int64_t>>>
RemoteSession::outputBounds(std::span<const bp_tensor_t> inputs) const {
  return artifact_->signature.outputBounds(inputs);
}

Status RemoteSession::checkOutputs(std::span<const bp_tensor_t> inputs,
                                   std::span<const bp_tensor_t> outputs) const {
  auto shapes = outputShapes(inputs), bounds = outputBounds(inputs);
  if (!shapes || !bounds)
    return (shapes ? bounds : shapes).status();
  if (outputs.size() != shapes->size())
    return invalidArgument(
        "the artifact has " + std::to_string(shapes->size()) +
        " outputs, the call gives " + std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = artifact_->signature.outputs()[i];
    const std::vector<int64_t> &dims = (*shapes)[i];
    Result<uint64_t> bytes = denseBytes(port.type.dtype, (*bounds)[i]);
    const bp_tensor_t &given = outputs[i];
    bool fits =
        bytes && given.dtype == uint32_t(port.type.dtype) &&
        given.size == *bytes && given.rank == dims.size() &&
        (given.data || !given.size) &&
        (!given.rank ||
         (given.dims && std::equal(dims.begin(), dims.end(), given.dims)));
    if (!fits)
      return invalidArgument("output '" + port.name +
                             "' does not have dtype, shape and size that "
                             "these inputs give");
  }
  return {};
}

Result<std::unique_ptr<AnyCall>>
RemoteSession::begin(const CallTensors &tensors, bool) {
  const auto &[inputs, outputs, memory, ready] = tensors;
  Result<SymbolValues> symbols = artifact_->signature.bind(inputs, true);
  if (!symbols)
    return symbols.status();
  if (Status s = checkOutputs(inputs, outputs); !s.ok())
    return s;
  worker::RunMessage message;
  message.artifact = hash_;
  message.session = opened_.session;
  for (const bp_tensor_t &input : inputs)
    message.inputs.push_back(toWire(input));
  Result<uint64_t> request = client_->send(FrameType::Run, encode(message));
  if (!request)
    return request.status();
  return std::unique_ptr<AnyCall>(
      new RemoteCall(shared_from_this(), *request,
                     std::vector(outputs.begin(), outputs.end())));
}

} // namespace backplane::rt
