// SPDX-License-Identifier: Apache-2.0
//
// Tables.h: the tables of the plug-in of mutants.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_TABLES_H
#define BACKPLANE_CONFORMANCE_MUTANTS_TABLES_H

#include "Inner.h"

namespace backplane::mutants {

extern const bp_driver_table_t driverTable;
extern const bp_memory_table_t memoryTable;
extern const bp_executable_table_t executableTable;
extern const bp_queue_table_t queueTable;
extern const bp_compiler_table_t compilerTable;

/// The mutant's fault; a plug-in without a mutant has no devices.
inline Fault faultOf(const bp_device_t *device) {
  return device->self->mutant->fault;
}
/// Names of target and format: those of the mutant, "mutant-m13".
std::string targetName(const Mutant &mutant);
/// Stores a failure through the host.
bp_status_t fail(const PluginSelf &self, bp_error_t *error,
                 const Status &status);

} // namespace backplane::mutants

#endif // BACKPLANE_CONFORMANCE_MUTANTS_TABLES_H
