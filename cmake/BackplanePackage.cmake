# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --build build --target package` makes of the installed files: a
# .tar.zst that works in any folder, and on Debian a .deb, whose dependencies
# dpkg-shlibdeps finds; of another architecture it would know nothing.
set(CPACK_GENERATOR TZST)
find_program(BP_SHLIBDEPS dpkg-shlibdeps)
if(BP_SHLIBDEPS AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME backplane)
set(CPACK_PACKAGE_VENDOR Backplane)
set(CPACK_PACKAGE_CONTACT "Backplane maintainers <maintainers@backplane.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "backend SDK for hardware vendors")
set(CPACK_PACKAGE_DESCRIPTION
  "Backplane compiles models for devices that plug-ins add through a C ABI. This
package has the runtime, the compiler, the tools, the C headers, the CMake
package for plug-ins and applications, and the examples.")
set(CPACK_PACKAGE_FILE_NAME
  "backplane-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, libvulkan1")
include(CPack)
