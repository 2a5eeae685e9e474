// SPDX-License-Identifier: Apache-2.0
//
// MessageFields.h: the table of messages.fbs that each message travels as, and
// the members of the message in the order of the table's fields.
#ifndef BACKPLANE_WORKER_MESSAGEFIELDS_H
#define BACKPLANE_WORKER_MESSAGEFIELDS_H

#include "Messages.h"

#include "messages_generated.h"

#include <concepts>
#include <tuple>

namespace backplane::worker {

/// The members of a message that is written to a table or read from one.
template <typename T, typename... Members> struct Fields {
  using Table = T;
  std::tuple<Members &...> members;
};
template <typename Table, typename... Members>
Fields<Table, Members...> as(Members &...members) {
  static_assert(sizeof...(Members) == Table::Traits::fields_number);
  return {{members...}};
}

/// That message, constant or not.
template <typename T, typename Message>
concept Is = std::same_as<std::remove_const_t<T>, Message>;

auto fieldsOf(Is<WireTensor> auto &m) {
  return as<fb::Tensor>(m.dtype, m.dims, m.data);
}

auto fieldsOf(Is<WireNumerics> auto &m) {
  return as<fb::Numerics>(m.opClass, m.dtype, m.accumulatorBits, m.rounding,
                          m.flags, m.operandBits);
}

auto fieldsOf(Is<WireFile> auto &m) { return as<fb::File>(m.name, m.sha256); }

auto fieldsOf(Is<WireProperty> auto &m) {
  return as<fb::Property>(m.key, m.kind, m.i64, m.f64, m.text, m.i64s);
}

auto fieldsOf(Is<WireKernel> auto &m) {
  return as<fb::Kernel>(m.set, m.version, m.text, m.weights);
}

auto fieldsOf(Is<WireDevice> auto &m) {
  return as<fb::Device>(m.uri, m.plugin, m.manifest, m.refusal, m.id, m.name,
                        m.identity, m.kind, m.flags, m.maxBindings,
                        m.maxConstants, m.workerCount, m.maxGrid,
                        m.maxBufferSize, m.maxBindingRange, m.bindingAlignment,
                        m.memoryBytes, m.formats, m.features, m.properties);
}

auto fieldsOf(Is<Hello> auto &m) {
  return as<fb::Hello>(m.version, m.machine, m.devices, m.device, m.deviceName,
                       m.plugin, m.deviceFlags, m.deviceKind, m.target,
                       m.storageDTypes, m.computeDTypes, m.numerics, m.kernels,
                       m.files, m.budget, m.bufferBytes);
}

auto fieldsOf(Is<ArtifactMessage> auto &m) {
  return as<fb::Artifact>(m.hash, m.bytes);
}

auto fieldsOf(Is<OfferMessage> auto &m) { return as<fb::Offer>(m.hash); }

auto fieldsOf(Is<OpenMessage> auto &m) {
  return as<fb::Open>(m.artifact, m.memoryBudget, m.variant);
}

auto fieldsOf(Is<OpenedMessage> auto &m) {
  return as<fb::Opened>(m.session, m.dispatches, m.choice);
}

auto fieldsOf(Is<SessionMessage> auto &m) { return as<fb::Session>(m.session); }

auto fieldsOf(Is<RunMessage> auto &m) {
  return as<fb::Run>(m.artifact, m.inputs, m.floatFill, m.otherFill, m.session);
}

auto fieldsOf(Is<ResultMessage> auto &m) {
  return as<fb::Result>(m.outputs, m.milliseconds, m.cpuMilliseconds, m.damage);
}

auto fieldsOf(Is<BatchMessage> auto &m) {
  return as<fb::Batch>(m.runs, m.mode, m.rounds, m.spareMemory);
}

auto fieldsOf(Is<BatchedMessage> auto &m) {
  return as<fb::Batched>(m.results, m.odd, m.oddRun, m.oddRound);
}

auto fieldsOf(Is<BeginMessage> auto &m) {
  return as<fb::Begin>(m.device, m.threads, m.memoryLimit, m.cacheFolder);
}

auto fieldsOf(Is<SurroundMessage> auto &m) {
  return as<fb::Surround>(m.variables, m.directory, m.locale, m.mask, m.files,
                          m.threads, m.processors, m.memory);
}

auto fieldsOf(Is<CompileMessage> auto &m) {
  return as<fb::Compile>(m.graph, m.weights, m.kernel);
}

auto fieldsOf(Is<JobMessage> auto &m) {
  return as<fb::Job>(m.model, m.output, m.dumpDir, m.targets, m.symbols,
                     m.minimums, m.maximums, m.flags, m.kernel, m.graph,
                     m.cacheDir, m.pluginFiles, m.addPluginFiles, m.select,
                     m.disable, m.trustedDirs, m.threads);
}

auto fieldsOf(Is<CompiledMessage> auto &m) {
  return as<fb::Compiled>(m.artifact, m.milliseconds);
}

auto fieldsOf(Is<CheckMessage> auto &m) {
  return as<fb::Check>(m.check, m.artifact, m.again);
}

auto fieldsOf(Is<CheckedMessage> auto &m) {
  return as<fb::Checked>(m.outcome, m.text, m.milliseconds);
}

auto fieldsOf(Is<BundleMessage> auto &m) {
  return as<fb::Bundle>(m.kind, m.version, m.target, m.device, m.facts,
                        m.bundle);
}

auto fieldsOf(Is<AnswerMessage> auto &m) {
  return as<fb::Answer>(m.run, m.type, m.payload);
}

auto fieldsOf(Is<EndMessage> auto &m) { return as<fb::End>(m.frames); }

auto fieldsOf(Is<ErrorMessage> auto &m) {
  return as<fb::Error>(m.code, m.text);
}

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_MESSAGEFIELDS_H
