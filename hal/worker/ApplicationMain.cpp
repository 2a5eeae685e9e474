// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"

int main() { return backplane::worker::serveApplication(); }
