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
//     Session session = Session::create(program).value();            // memory of one run at a time
//     session.run({bind("x", input)},                                // your memory, by name
//                 {bind("values", top), bind("indices", classes)}).throw_if_error();
//
// Without exceptions: every function above returns Status or Result<T>.

#include "millrace/graph/builder.h"        // GraphBuilder, Tensor
#include "millrace/graph/cache_kernels.h"  // kernels for applications without LLVM
#include "millrace/graph/code_object.h"    // a program's kernels for a GPU as one object
#include "millrace/graph/compile.h"        // compile
#include "millrace/graph/composites.h"     // softmax, norms, attention and others, made of ops
#include "millrace/graph/context.h"        // devices, generators, the kernel cache
#include "millrace/graph/functions.h"      // ops as functions on tensors
#include "millrace/graph/npy.h"            // arrays in NumPy files
#include "millrace/graph/program.h"        // Program, Session
#include "millrace/graph/safetensors.h"    // weights from a file
#include "millrace/graph/text.h"           // graphs as text
#include "millrace/graph/variable_file.h"  // state of a session in a file
