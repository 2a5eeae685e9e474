/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volk.c: volk itself, which finds libvulkan.so.1 at run time, so that the
 * driver loads where there is no Vulkan.
 */
#define VOLK_IMPLEMENTATION
#include <volk.h>
