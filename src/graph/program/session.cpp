// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/program/program_state.h"
#include "millrace/base/printable.h"

namespace millrace {

namespace {

/// An argument's bytes, as addresses.
struct ByteSpan {
  std::uintptr_t begin = 0, end = 0;
  bool is_output = false;
};

}  // namespace

struct Session::State {
  std::shared_ptr<const Program::State> program;
  std::unique_ptr<Recording> recording;
  SubmissionObserver* observer = nullptr;
  std::shared_ptr<Buffer> slab;         // as large as the largest binding so far needs
  std::vector<BufferBinding> bindings;  // inputs, outputs, constants, slab: as record_commands binds them
  std::vector<std::int64_t> sizes;      // as CommandList::sizes
  std::vector<ByteSpan> spans;          // room for check_overlaps
  // What `sizes` was evaluated for.
  bool is_bound = false;
  std::vector<Extents> extents;  // one per input
  SymbolValues values;

  Status bind(std::span<const TensorBinding> inputs, std::span<const DimBinding> dims);
  bool is_bound_to(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) const;
  std::int64_t binding_bytes(std::size_t binding) const {
    return sizes[index_of(program->lowered().commands.bindings[BindingIndex(binding)].size_bytes)];
  }
};

namespace {

Status check_count(std::size_t given, std::size_t expected, const char* what) {
  if (given == expected) return {};
  return invalid_argument(
      fmt::format("run: {} {}s given, expected {}; bind each once, in the program's order", given, what, expected));
}

/// The type as it is bound, for a message.
std::string bound_text(const TensorType& type, const SymbolValues& values) {
  const Result<TensorType> bound = bind_type(type, values);
  return bound.ok() ? bound->to_text() : type.to_text();
}

Status check_memory(const BufferBinding& given, std::int64_t expected_bytes, const Argument& argument, const char* what,
                    const SymbolValues& values) {
  if (given.size_bytes != static_cast<std::uint64_t>(expected_bytes)) {
    return invalid_argument(fmt::format("run: {} '{}' has {} bytes, expected {} for {}; bind the whole tensor", what,
                                        argument.name, given.size_bytes, expected_bytes,
                                        bound_text(argument.type, values)));
  }
  if (expected_bytes == 0) return {};
  if (given.data == nullptr) {
    return invalid_argument(fmt::format("run: {} '{}' is null, expected {} bytes for {}; bind memory", what,
                                        argument.name, expected_bytes, bound_text(argument.type, values)));
  }
  const std::size_t alignment = size_bytes(argument.type.dtype);
  if (reinterpret_cast<std::uintptr_t>(given.data) % alignment != 0) {
    return invalid_argument(fmt::format("run: {} '{}' is not aligned to {} bytes, as {} needs; bind memory that is",
                                        what, argument.name, alignment, to_text(argument.type.dtype)));
  }
  return {};
}

Status check_output_extents(const TensorBinding& given, const Argument& output, const SymbolValues& values) {
  if (!given.has_extents) return {};
  bool agrees = given.extents.rank() == output.type.shape.rank();
  for (std::size_t d = 0; agrees && d < given.extents.rank(); ++d) {
    MILLRACE_TRY_ASSIGN(const std::int64_t extent, output.type.shape[d].evaluate(values));
    agrees = given.extents[d] == extent;
  }
  if (agrees) return {};
  return invalid_argument(fmt::format("run: output '{}' was bound with other extents, expected {}; ask output_types()",
                                      printable(output.name), bound_text(output.type, values)));
}

/// Bits of 16-bit floats come as u16 too, and bools as any byte.
Status check_dtype(const TensorBinding& given, const Argument& argument, const char* what) {
  const DType expected = argument.type.dtype;
  if (!given.dtype || *given.dtype == expected) return {};
  const bool holds_bits = size_bytes(*given.dtype) == size_bytes(expected) &&
                          (expected == DType::kBool || (is_float(expected) && *given.dtype == DType::kU16));
  if (holds_bits) return {};
  return invalid_argument(fmt::format("run: {} '{}' is bound to elements of {}, expected {} for {}; bind those", what,
                                      argument.name, to_text(*given.dtype), to_text(expected),
                                      argument.type.to_text()));
}

bool overlap(const BufferBinding& a, const BufferBinding& b) {
  if (a.size_bytes == 0 || b.size_bytes == 0) return false;
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a_begin < b_begin + b.size_bytes && b_begin < a_begin + a.size_bytes;
}

/// Whether an output may share bytes with another argument. `spans` is room for one per argument.
bool have_overlaps(std::span<const BufferBinding> arguments, std::size_t num_inputs, std::vector<ByteSpan>& spans) {
  spans.clear();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(arguments[i].data);
    if (arguments[i].size_bytes > 0) spans.push_back({begin, begin + arguments[i].size_bytes, i >= num_inputs});
  }
  std::ranges::sort(spans, {}, &ByteSpan::begin);
  std::uintptr_t end_of_all = 0, end_of_outputs = 0;
  for (const ByteSpan& span : spans) {
    if (span.begin < (span.is_output ? end_of_all : end_of_outputs)) return true;
    end_of_all = std::max(end_of_all, span.end);
    if (span.is_output) end_of_outputs = std::max(end_of_outputs, span.end);
  }
  return false;
}

/// Inputs are only read and every output is written: no output may share bytes with another argument.
Status check_overlaps(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
                      const Program::State& program) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (overlap(outputs[o].buffer(), inputs[i].buffer())) {
        return invalid_argument(fmt::format("run: output '{}' shares memory with input '{}'; give it its own",
                                            printable(program.outputs[o].name), printable(program.inputs[i].name)));
      }
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (overlap(outputs[o].buffer(), outputs[other].buffer())) {
        return invalid_argument(fmt::format("run: output '{}' shares memory with output '{}'; give it its own",
                                            printable(program.outputs[o].name),
                                            printable(program.outputs[other].name)));
      }
    }
  }
  return {};
}

/// A device knows dispatches; who runs a program knows nodes.
Status name_nodes(const DispatchFailure& failure, Status status, const Program::State& program,
                  const SymbolValues& values, std::span<const BufferBinding> bindings) {
  const std::vector<IndexCheck>& checks = program.index_checks[failure.command];
  if (failure.errors != static_cast<std::uint32_t>(KernelError::kIndexOutOfRange) || checks.empty()) return status;
  return out_of_range("run: " + describe_wrong_index(checks, values, bindings));
}

/// The extents that came, or those of a type without symbols.
Result<Extents> extents_of(const TensorBinding& given, const Argument& input) {
  if (given.has_extents) return given.extents;
  std::array<std::int64_t, kMaxRank> extents{};
  const Shape& shape = input.type.shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!shape[d].is_constant()) {
      return invalid_argument(fmt::format("input '{}' came without extents, expected them for {}; say bind(x, {{...}})",
                                          printable(input.name), input.type.to_text()));
    }
    extents[d] = shape[d].constant();
  }
  return Extents(std::span(extents.data(), shape.rank()));
}

}  // namespace

/// A replay with the sizes of the last run needs no evaluation.
bool Session::State::is_bound_to(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) const {
  if (!is_bound || given.size() != program->named_dims.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].has_extents ? inputs[i].extents != extents[i] : !program->inputs[i].type.shape.is_static())
      return false;
  }
  return std::ranges::all_of(program->named_dims, [&](const Dim& dim) {
    const auto found = std::ranges::find(given, dim.name(), &DimBinding::name);
    return found != given.end() && found->value == values.find(dim.name())->second;
  });
}

Status Session::State::bind(std::span<const TensorBinding> inputs, std::span<const DimBinding> given) {
  is_bound = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    MILLRACE_TRY_ASSIGN(extents[i], extents_of(inputs[i], program->inputs[i]));
  }
  MILLRACE_TRY(bind_symbols(program->symbols, program->inputs, extents, given, values));
  const CommandList& commands = program->lowered().commands;
  for (std::uint32_t i = 0; i < commands.sizes.size(); ++i) {
    MILLRACE_TRY_ASSIGN(sizes[i], commands.sizes[SizeIndex{i}].evaluate(values));
  }
  const auto slab_bytes = static_cast<std::size_t>(binding_bytes(bindings.size() - 1));
  if (slab == nullptr || slab->size_bytes() < slab_bytes) {
    slab.reset();  // before, so that the two are never there at once
    bindings.back() = {};
    Result<std::shared_ptr<Buffer>> allocated = program->device->allocate(slab_bytes);
    if (!allocated.ok()) {
      return name_largest(allocated.status(), program->lowered().schedule, Lifetime::kTransient, values);
    }
    slab = *std::move(allocated);
    bindings.back() = {slab->data(), slab->size_bytes()};
  }
  is_bound = true;
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Program& program) {
  return guard_allocations("session", [&]() -> Result<Session> {
    if (program.state() == nullptr)
      return invalid_argument("session: the program is empty; give what compile() returned");
    auto state = std::make_unique<State>();
    state->program = program.state();
    const Program::State& shared = *state->program;
    MILLRACE_TRY_ASSIGN(state->recording, shared.device->record(shared.lowered().commands, shared.executable));
    for (const ProgramSymbol& symbol : shared.symbols.symbols) state->values[symbol.dim.name()] = 0;
    state->sizes.resize(shared.lowered().commands.sizes.size());
    state->extents.resize(shared.inputs.size());
    state->bindings.resize(shared.inputs.size() + shared.outputs.size());
    state->spans.reserve(state->bindings.size());
    state->bindings.push_back({shared.constants->data(), shared.constants->size_bytes()});
    state->bindings.emplace_back();
    if (shared.symbols.symbols.empty()) {
      MILLRACE_TRY(state->bind(std::vector<TensorBinding>(shared.inputs.size()), {}));
    }
    return Session(std::move(state));
  });
}

Status Session::run(std::span<const TensorBinding> inputs, std::span<const TensorBinding> outputs,
                    std::span<const DimBinding> dims) {
  return guard_allocations("run", [&]() -> Status {
    if (state_ == nullptr) return failed_precondition("run: the session was moved from; create another");
    const Program::State& program = *state_->program;
    MILLRACE_TRY(check_count(inputs.size(), program.inputs.size(), "input"));
    MILLRACE_TRY(check_count(outputs.size(), program.outputs.size(), "output"));
    if (!state_->is_bound_to(inputs, dims)) {
      const Status bound = state_->bind(inputs, dims);
      if (!bound.ok()) return Status(bound.code(), "run: " + bound.message());
    }
    std::size_t binding = 0;
    const auto bind_memory = [&](const TensorBinding& given, const Argument& argument, const char* what) -> Status {
      MILLRACE_TRY(check_dtype(given, argument, what));
      const Status status =
          check_memory(given.buffer(), state_->binding_bytes(binding), argument, what, state_->values);
      state_->bindings[binding++] = given.buffer();
      return status;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) MILLRACE_TRY(bind_memory(inputs[i], program.inputs[i], "input"));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      MILLRACE_TRY(check_output_extents(outputs[i], program.outputs[i], state_->values));
      MILLRACE_TRY(bind_memory(outputs[i], program.outputs[i], "output"));
    }
    // Many arguments are compared by sorting them, and one by one only to name those that overlap.
    constexpr std::size_t kFewArguments = 16;
    const std::size_t num_arguments = inputs.size() + outputs.size();
    if (num_arguments <= kFewArguments ||
        have_overlaps(std::span(state_->bindings).first(num_arguments), inputs.size(), state_->spans)) {
      MILLRACE_TRY(check_overlaps(inputs, outputs, program));
    }
    std::optional<DispatchFailure> failure;
    Status status = program.device->submit(
        *state_->recording,
        {.bindings = state_->bindings, .sizes = state_->sizes, .observer = state_->observer, .failure = &failure});
    if (!failure) return status;
    return name_nodes(*failure, std::move(status), program, state_->values, state_->bindings);
  });
}

void Session::observe(SubmissionObserver* observer) {
  if (state_ != nullptr) state_->observer = observer;
}

}  // namespace millrace
