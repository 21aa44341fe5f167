// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_graph.h"

#include <algorithm>
#include <cstring>

#include "tests/support/guarded_buffer.h"

namespace millrace::test {

std::shared_ptr<const Context> test_context() {
  static const std::shared_ptr<const Context> kContext = make_default_context({.cache_directory = ""});
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

Result<std::vector<reference::Tensor>> run_guarded(const Program& program, std::span<const reference::Tensor> inputs) {
  std::vector<GuardedBuffer> in, out;
  std::vector<BufferBinding> in_bindings, out_bindings;
  for (const reference::Tensor& input : inputs) {
    in.emplace_back(input.bytes.size(), GuardedBuffer::Guard::kAfter);
    std::ranges::copy(input.bytes, in.back().data());
    in.back().make_read_only();
    in_bindings.push_back(in.back().binding());
  }
  for (const Program::Argument& argument : program.outputs()) {
    out.emplace_back(argument.size_bytes, GuardedBuffer::Guard::kAfter);
    out_bindings.push_back(out.back().binding());
  }
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  std::vector<reference::Tensor> outputs;
  for (int run = 0; run < 2; ++run) {
    MILLRACE_TRY(session.run(in_bindings, out_bindings));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!out[i].is_slack_intact())
        return internal_error("bytes before output " + std::to_string(i) + " were written");
      if (run == 0) {
        outputs.emplace_back(program.outputs()[i].type);
        std::ranges::copy(out[i].bytes(), outputs[i].bytes.begin());
        std::ranges::fill(out[i].bytes(), kUntouched);
      } else if (!std::ranges::equal(out[i].bytes(), outputs[i].bytes)) {
        return internal_error("output " + std::to_string(i) + " of the second run differs from the first's");
      }
    }
  }
  return outputs;
}

}  // namespace millrace::test
