// SPDX-License-Identifier: Apache-2.0
#include "run_graph.h"

int main() { return consumer::run_and_tell(); }
