// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples/story/checkpoint.h"
#include "millrace/graph/graph.h"

namespace story {

/// One step of a decoder. Input `token`; size `seen`, the number of positions up to that of the token; output `next`,
/// the most likely next token. The keys and values of earlier positions are variables [layers, kv_heads, context,
/// head_size]; a step writes one row of them for each layer and head. Source: Touvron et al., arXiv:2307.09288; the
/// network's details from run.c at github.com/karpathy/llama2.c.
millrace::Result<millrace::Graph> build_decoder(const Checkpoint&);

}  // namespace story
