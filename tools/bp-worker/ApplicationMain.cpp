// SPDX-License-Identifier: Apache-2.0
#include "hal/worker/Serve.h"

int main() { return backplane::worker::serveApplication(); }
