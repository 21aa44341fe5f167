// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/run_graph.h"

#include <algorithm>
#include <cstring>

#include "millrace/hal/target_spec.h"
#include "millrace/isa/driver.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {

std::shared_ptr<const Context> test_context() {
  static const std::shared_ptr<const Context> kContext = make_default_context({.cache_directory = ""});
  return kContext;
}

std::shared_ptr<const Context> isa_context() {
  const auto make = [] {
    const auto context =
        std::make_shared<Context>(*make_default_context({.cache_directory = "", .llvm = {.line_tables = true}}));
    context->drivers.push_back(isa_driver());
    return context;
  };
  static const std::shared_ptr<const Context> kContext = make();
  return kContext;
}

std::vector<CompileOptions> every_way_to_compile() {
  std::vector<CompileOptions> ways;
  CompileOptions options;
  options.context = test_context();
  for (const IsaLevel isa : host_isa_levels()) {
    options.device = "cpu:" + std::string(to_text(isa));
    ways.push_back(options);
  }
  options.lowering.compile.force_generator = "interpreter";
  ways.push_back(options);
  return ways;
}

std::string to_text(const CompileOptions& options) {
  return options.device + " " + options.lowering.compile.force_generator;
}

namespace {
Extents extents_of(const TensorType& type) {
  std::vector<std::int64_t> extents;
  for (const SizeExpr& dim : type.shape.dims()) extents.push_back(dim.constant());
  return Extents(extents);
}
}  // namespace

Result<std::vector<reference::Tensor>> run_guarded(const Program& program, std::span<const reference::Tensor> inputs,
                                                   std::span<const DimBinding> dims, int num_runs) {
  std::vector<GuardedBuffer> in, out;
  std::vector<TensorBinding> in_bindings, out_bindings;
  std::vector<Extents> extents;
  for (const reference::Tensor& input : inputs) {
    in.emplace_back(input.bytes.size(), GuardedBuffer::Guard::kAfter);
    std::ranges::copy(input.bytes, in.back().data());
    in.back().make_read_only();
    extents.push_back(extents_of(input.type));
    in_bindings.push_back(bind(std::span(in.back().data(), input.bytes.size()), extents.back()));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<TensorType> types, program.output_types(extents, dims));
  for (const TensorType& type : types) {
    out.emplace_back(static_cast<std::size_t>(size_bytes(type).constant()), GuardedBuffer::Guard::kAfter);
    out_bindings.push_back(bind(out.back().bytes()));
  }
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  std::vector<reference::Tensor> outputs;
  for (int run = 0; run < num_runs; ++run) {
    MILLRACE_TRY(session.run(in_bindings, out_bindings, dims));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!out[i].is_slack_intact())
        return internal_error("bytes before output " + std::to_string(i) + " were written");
      if (run == 0) {
        outputs.emplace_back(types[i]);
        std::ranges::copy(out[i].bytes(), outputs[i].bytes.begin());
        std::ranges::fill(out[i].bytes(), kUntouched);
      } else if (!std::ranges::equal(out[i].bytes(), outputs[i].bytes)) {
        return internal_error("output " + std::to_string(i) + " of run " + std::to_string(run + 1) +
                              " differs from the first's");
      }
    }
  }
  return outputs;
}

}  // namespace millrace::test
