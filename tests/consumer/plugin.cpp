// SPDX-License-Identifier: Apache-2.0
// A shared library that has Millrace inside, and shows one function.
#include "run_graph.h"

extern "C" __attribute__((visibility("default"))) int plugin_main() { return consumer::run_and_tell(); }
