// SPDX-License-Identifier: Apache-2.0
// A program whose library has Millrace inside.
extern "C" int plugin_main();

int main() { return plugin_main(); }
