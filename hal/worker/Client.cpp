// SPDX-License-Identifier: Apache-2.0
#include "Client.h"

#include <algorithm>

namespace backplane::worker {

Result<std::shared_ptr<Client>>
Client::start(const NamedWorker &worker,
              const std::vector<std::string> &arguments) {
  auto process =
      Process::start(worker.command(arguments),
                     std::chrono::duration_cast<Milliseconds>(worker.timeout));
  std::string name = "worker '" + worker.name + "'";
  if (!process)
    return process.status().within(name);
  std::shared_ptr<Client> client(
      new Client(std::move(name), worker.timeout, std::move(*process)));
  client->reader_ = std::thread([raw = client.get()] { raw->read(); });
  return client;
}

Client::Client(std::string name, Milliseconds timeout,
               std::unique_ptr<Process> process)
    : name_(std::move(name)), timeout_(timeout), process_(std::move(process)) {}

Client::~Client() {
  {
    std::lock_guard lock(mutex_);
    process_->terminate();
  }
  reader_.join();
}

bool Client::lost() const {
  std::lock_guard lock(mutex_);
  return !lost_.ok();
}

/// Keeps the first reason; a worker that is lost is ended.
void Client::lose(const Status &status) {
  std::lock_guard lock(mutex_);
  if (lost_.ok())
    lost_ = process_->ended(status).within(name_);
  process_->terminate();
  changed_.notify_all();
}

Status Client::take(Frame frame) {
  std::lock_guard lock(mutex_);
  uint64_t request = frame.request;
  if (request == 0 && frame.type == FrameType::Error)
    return errorOf(frame).within("the worker cannot read what it is sent");
  if (!asked_.erase(request))
    return dataLoss("the worker answered what it was not asked");
  if (!forgotten_.erase(request))
    answers_.emplace(request, std::move(frame));
  changed_.notify_all();
  return {};
}

/// Body of the reading thread.
void Client::read() {
  Status status;
  while (status.ok()) {
    Result<std::optional<Frame>> frame = process_->channel().receive();
    if (!frame)
      status = frame.status();
    else if (!*frame)
      status = Status(BP_STATUS_UNAVAILABLE, "the worker has gone");
    else
      status = take(std::move(**frame));
  }
  lose(status);
}

/// A second for each MiB on top, so that a slow line may carry large tensors.
Channel::Clock::time_point Client::deadline(uint64_t bytes) const {
  return Channel::Clock::now() + timeout_ + std::chrono::seconds(bytes >> 20);
}

Result<uint64_t> Client::send(FrameType type, Payload payload) {
  std::lock_guard one(sending_);
  uint64_t request = ++last_;
  {
    std::lock_guard lock(mutex_);
    if (!lost_.ok())
      return lost_;
    asked_.emplace(request, Channel::Clock::now());
  }
  auto until = deadline(payload.size());
  Status status =
      process_->channel().send({type, request, std::move(payload)}, until);
  if (status.ok())
    return request;
  {
    // What a worker says before it ends tells more than that it ended.
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(1),
                      [&] { return !lost_.ok(); });
  }
  lose(status);
  std::lock_guard lock(mutex_);
  return lost_;
}

Result<Frame> Client::wait(uint64_t request) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto found = answers_.find(request); found != answers_.end()) {
      Frame frame = std::move(found->second);
      answers_.erase(found);
      if (frame.type == FrameType::Error)
        return errorOf(frame).within(name_);
      return frame;
    }
    if (!lost_.ok())
      return lost_;
    auto asked = asked_.find(request);
    if (asked == asked_.end())
      return internalError("this request of a worker was waited for before");
    auto until =
        std::max(asked->second, process_->channel().lastHeard()) + timeout_;
    if (Channel::Clock::now() < until) {
      changed_.wait_until(lock, until);
      continue;
    }
    lock.unlock();
    lose(Status(BP_STATUS_DEADLINE_EXCEEDED,
                "gave no sign of life for " +
                    std::to_string(timeout_.count() / 1000) +
                    " s and was ended"));
    lock.lock();
  }
}

bool Client::answered(uint64_t request) const {
  std::lock_guard lock(mutex_);
  return !lost_.ok() || answers_.count(request);
}

void Client::forget(uint64_t request) {
  std::lock_guard lock(mutex_);
  if (!answers_.erase(request) && asked_.count(request))
    forgotten_.insert(request);
}

Result<Payload> Client::ask(FrameType type, Payload payload, FrameType answer) {
  Result<uint64_t> request = send(type, std::move(payload));
  if (!request)
    return request.status();
  Result<Frame> frame = wait(*request);
  if (!frame)
    return frame.status();
  if (frame->type != answer)
    return dataLoss(name_ + " gave an answer of the wrong type");
  return std::move(frame->payload);
}

Status Client::give(const std::string &hash, std::span<const uint8_t> bytes) {
  Result<uint64_t> offer = send(FrameType::Offer, encode(OfferMessage{hash}));
  if (!offer)
    return offer.status();
  Result<Frame> answer = wait(*offer);
  if (!answer || answer->type == FrameType::Ready)
    return answer.status();
  if (answer->type != FrameType::Need)
    return dataLoss(name_ + " gave an answer of the wrong type");
  ArtifactMessage message{hash, {bytes.begin(), bytes.end()}};
  return ask(FrameType::Artifact, encode(message), FrameType::Ready).status();
}

} // namespace backplane::worker
