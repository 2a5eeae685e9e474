# SPDX-License-Identifier: Apache-2.0
#
# What of oneDNN 3 there is: its headers, from the wheel of tools/requirements.txt
# in .venv or from the system. Nothing is linked against it; the kernels open
# libdnnl.so.3 at run time.
#
#   bp_onednn            a target with the folder of its headers; not there where they
#                        are not, or with -DBP_ONEDNN=OFF
#   BP_ONEDNN_LIBRARY_DIR  the folder of the library beside them, or empty
include_guard(GLOBAL)

set(bp_onednn_root "${PROJECT_SOURCE_DIR}/.venv")
find_path(BP_ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h PATHS "${bp_onednn_root}"
  PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH)
set(BP_ONEDNN_LIBRARY_DIR "")
if(BP_ONEDNN_INCLUDE_DIR STREQUAL "${bp_onednn_root}/include")
  set(BP_ONEDNN_LIBRARY_DIR "${bp_onednn_root}/lib")
endif()

option(BP_ONEDNN "Build the kernels of oneDNN, where its headers are found" ON)
set(bp_onednn_version 0)
if(BP_ONEDNN_INCLUDE_DIR)
  file(STRINGS "${BP_ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" bp_onednn_line
    REGEX "#define DNNL_VERSION_MAJOR")
  string(REGEX MATCH "[0-9]+" bp_onednn_version "${bp_onednn_line}")
endif()
if(NOT BP_ONEDNN)
  message(STATUS "oneDNN: not used (BP_ONEDNN is off)")
elseif(NOT BP_ONEDNN_INCLUDE_DIR)
  message(STATUS "oneDNN: not found; its kernels are left out (tools/setup "
    "installs it, BP_ONEDNN_INCLUDE_DIR names its headers)")
elseif(NOT bp_onednn_version EQUAL 3)
  message(STATUS "oneDNN: version ${bp_onednn_version} in "
    "${BP_ONEDNN_INCLUDE_DIR}, 3 is needed; its kernels are left out")
else()
  add_library(bp_onednn INTERFACE)
  target_include_directories(bp_onednn SYSTEM INTERFACE "${BP_ONEDNN_INCLUDE_DIR}")
  message(STATUS "oneDNN: ${BP_ONEDNN_INCLUDE_DIR}")
endif()
