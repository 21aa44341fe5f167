// SPDX-License-Identifier: Apache-2.0
#pragma once

// Millrace: build a tensor graph in C++, compile it, run it.
//
//     GraphBuilder graph("mlp");
//     Tensor x = graph.input("x", DType::kF32, {1, 64});
//     Tensor w = graph.constant<float>({64, 10}, weights);
//     auto [values, indices] = topk(softmax(matmul(x, w)), 3);
//     graph.output("values", values);
//     graph.output("indices", indices);
//
//     Program program = compile(graph.finish().value()).value();     // passes, kernels, schedule, machine code
//     Session session = Session::create(program).value();            // memory for one run at a time
//     session.run({bind("x", input)},                                // arguments in your memory, by name
//                 {bind("values", top), bind("indices", classes)}).throw_if_error();
//
// value() and throw_if_error() throw. To avoid exceptions, check the Result<T> or Status on which they are called.

#include "millrace/graph/builder.h"        // GraphBuilder, Tensor
#include "millrace/graph/cache_kernels.h"  // fills a kernel cache, so that applications need no LLVM
#include "millrace/graph/code_object.h"    // links a program's GPU kernels into one code object
#include "millrace/graph/compile.h"        // compile
#include "millrace/graph/composites.h"     // softmax, norms, attention and others, built from ops
#include "millrace/graph/context.h"        // devices, generators, the kernel cache
#include "millrace/graph/functions.h"      // ops as functions on tensors
#include "millrace/graph/npy.h"            // reads and writes NumPy files
#include "millrace/graph/program.h"        // Program, Session
#include "millrace/graph/safetensors.h"    // reads and writes safetensors files
#include "millrace/graph/text.h"           // reads and writes graphs as text
#include "millrace/graph/variable_file.h"  // saves a session's variables to a file
