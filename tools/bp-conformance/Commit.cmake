# SPDX-License-Identifier: Apache-2.0
#
# Writes the commit of the source to OUTPUT, only when it has changed.
cmake_policy(VERSION 3.25)
execute_process(
  COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
  "#define BP_SUITE_COMMIT \"@commit@\"\n" @ONLY)
