// SPDX-License-Identifier: Apache-2.0
// Tests that are texts: tests/jit/**/*.kernel. A file holds one kernel, or several with a line "// ---" between them.
// The kernel's text begins with the word for its kind: loop_kernel, kernel, or lanes for a lane function, which takes
// the first three directives. Comments in it are directives; they are on their own lines or after the line that
// they are about:
//
//     // verify
//         The kernel verifies, and its text reads back. So does every kernel without an `error`; this says that
//         nothing else is expected.
//     // error: <line>
//         A line of the error, which is expected whole and in order. An error of the parser is "<column>: <message>",
//         on the line that it names. A verifier's lines stand without the "kernel 'name': " that they begin with.
//     // run: n = 3, x = [1, 2, 3] -> y = [2, 4, 6]
//         Runs with these symbols and buffers, and expects these: a loop nest by its definition, then with every
//         generator on every ISA level of the host and on a simulated GPU; a machine kernel on the former, or, if its
//         workgroups have several threads, on the latter. A buffer on the right alone begins with zeros.
//         "-> y = [1], error: out of range" expects that the run fails, with this in its code or message.
//     // run: arg0 = i32[1, 2, 3], arg2 = 3 -> arg1 = i32[2, 4, 6], returns arg1+12
//         The same for a lane function, which is evaluated, and runs as code if the host has its level: run_lanes.h.
//     // plan <target>: <text>
//         The memory plan and the mapping for the target contain the text, or the refusal does.
//     // must-contain <target>: <text>
//         The machine kernel for the target contains the text, or the assembly that LLVM makes of it.
//
// A bug's smallest kernel becomes a file as it is: the texts that compilers dump are in this form.
#pragma once

#include <string>
#include <vector>

namespace millrace::test {

/// Every *.kernel below tests/jit, as a path.
std::vector<std::string> kernel_files();

/// What the file expects and does not find, one line each; empty when all is as it says.
std::string kernel_file_problems(const std::string& path);

}  // namespace millrace::test
