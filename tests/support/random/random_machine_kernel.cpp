// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_machine_kernel.h"

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/kernels/machine_kernels.h"

namespace millrace::test {
namespace {

using Values = MachineBuilder::Values;

constexpr std::int64_t kElements = 64;  // of a slot, and of an input: a power of two, so that masks keep offsets inside
constexpr std::uint32_t kMaxLanes = 32;

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomKernelOptions& options)
      : options_(options), random_(seed), b_("random" + std::to_string(seed)), lanes_(pick_lanes()) {}

  RandomMachineKernel run() {
    declare();
    RandomMachineKernel made;
    made.num_groups = 1 + static_cast<std::uint32_t>(below(3));
    if (options_.num_groups != 0) made.num_groups = options_.num_groups;
    for (int i = 0; i < options_.num_statements; ++i) statement(0);
    store_results();
    b_.set_num_groups(made.num_groups);
    made.kernel = b_.finish();
    for (std::size_t i = 0; i < made.kernel.buffers.size(); ++i) {
      const bool is_input = i < inputs_.size();
      made.num_elements.push_back(is_input ? kElements : kGroupElements * made.num_groups);
    }
    for (const SizeArgument& size : made.kernel.sizes) {
      made.sizes.push_back(size.value == SizeExpr(Dim("stride")) ? kGroupElements
                                                                 : static_cast<std::int64_t>(below(7)));
    }
    return made;
  }

 private:
  static constexpr std::int64_t kGroupElements = 1 << 14;  // of each output, for one group

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  std::uint32_t pick_lanes() {
    constexpr std::uint32_t kLanes[] = {1, 2, 4, 8, 16, kMaxLanes};
    return std::min(kLanes[below(std::size(kLanes))], options_.max_lanes);
  }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  void declare() {
    for (const DType dtype : kAllDTypes) inputs_.push_back(b_.buffer("in_" + name(dtype), dtype, BufferAccess::kRead));
    for (const DType dtype : kAllDTypes)
      outputs_.push_back(b_.buffer("out_" + name(dtype), dtype, BufferAccess::kWrite));
    stored_.resize(outputs_.size());
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kBF16, DType::kU8, DType::kBool}) {
      slots_.push_back(b_.workgroup_memory(dtype, kElements, "ours_" + name(dtype)));
      slots_.push_back(b_.private_memory(dtype, kElements, "mine_" + name(dtype)));
    }
    base_ = b_.mul(b_.workgroup_id(), b_.size(Dim("stride")));
    for (const DType dtype : {DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
      shared_.push_back(b_.workgroup_memory(dtype, kElements, "shared_" + name(dtype)));
    }
    slots_.insert(slots_.end(), shared_.begin(), shared_.end());
    for (const MemoryHandle& slot : slots_) {  // undefined until then
      const MemoryHandle& input = inputs_[static_cast<std::size_t>(slot.dtype)];
      for_whole_slot(
          [&](MachineValue place, std::uint32_t lanes) { b_.store(slot, place, b_.load(input, place, lanes)); });
    }
    b_.barrier();
    add(b_.workgroup_id());
    add(b_.size(Dim("n")));
  }

  /// Calls f(place, lanes) so that all of a slot's elements are covered.
  template <class F>
  void for_whole_slot(F&& f) {
    const MachineValue zero = b_.i64(0);
    if (options_.max_lanes == kMaxLanes) return f(zero, static_cast<std::uint32_t>(kElements));
    const MachineValue end = b_.i64(kElements), step = b_.i64(options_.max_lanes);
    b_.for_loop(zero, end, step, {}, [&](MachineValue place, const Values&) {
      f(place, options_.max_lanes);
      return Values{};
    });
  }

  static std::string name(DType dtype) { return std::string(to_text(dtype)); }

  void add(MachineValue value) { pool_.push_back(value); }

  MachineValue constant(DType dtype) {
    if (dtype == DType::kBool) return b_.constant_int(dtype, static_cast<std::int64_t>(below(2)));
    return b_.constant(dtype, static_cast<double>(below(40)) / 2 - (is_unsigned(dtype) ? 0 : 8));
  }

  DType pick_index_dtype() { return chance(50) ? DType::kI32 : DType::kI64; }
  /// A scalar in [0, kElements - kMaxLanes].
  MachineValue small_offset() {
    const MachineValue any = value({pick_index_dtype(), 1});
    return b_.bit_and(any, b_.constant_int(any.dtype, kElements - kMaxLanes - 1));
  }
  MachineValue small_offsets() {
    const MachineValue any = value({pick_index_dtype(), lanes_});
    return b_.bit_and(any, b_.constant_int(any.dtype, kElements - 1));
  }

  /// A value of the type: one that there is, or a new one.
  MachineValue value(VectorType type) {
    std::vector<MachineValue> fitting;
    for (const MachineValue& candidate : pool_) {
      if (candidate.dtype == type.dtype && candidate.lanes == type.lanes) fitting.push_back(candidate);
    }
    if (!fitting.empty() && chance(85)) return pick(fitting);
    if (type.lanes == 1 && chance(30)) return constant(type.dtype);
    const MemoryHandle& input = inputs_[static_cast<std::size_t>(type.dtype)];
    const MachineValue loaded =
        b_.load(input, b_.i64(static_cast<std::int64_t>(below(kElements - kMaxLanes))), type.lanes);
    add(loaded);
    return loaded;
  }

  DType pick_dtype(KernelOp op) {
    std::vector<DType> dtypes;
    for (const DType dtype : kAllDTypes) {
      if (is_register_dtype(dtype) && takes(op, dtype)) dtypes.push_back(dtype);
    }
    return pick(dtypes);
  }

  void statement(int depth) {
    switch (below(depth < 2 ? 15 : 12)) {
      case 0:
        return reduce_or_extract();
      case 1:
        return add(b_.lane_iota(pick_dtype(KernelOp::kLaneIota), lanes_));
      case 2:
        return add(b_.splat(value({pick_dtype(KernelOp::kSplat), 1}), lanes_));
      case 3:
        return load();
      case 4:
        return store();
      case 5:
        if (chance(30)) b_.report_error(value({DType::kBool, chance(50) ? 1 : lanes_}), 1u << below(4));
        return;
      case 6:
        if (!options_.has_thread_ops) return lanewise();
        return chance(50) ? atomic() : subgroup_op();
      case 12:
        if (depth == 0) return b_.barrier();
        return loop(depth);
      case 13:
        return loop(depth);
      case 14:
        return branch(depth);
      default:
        return lanewise();
    }
  }

  void lanewise() {
    static const std::vector<OpSignature> kSignatures = lanewise_signatures();
    const OpSignature& signature = pick(kSignatures);
    const bool is_float_mul_add = signature.op == KernelOp::kMulAdd && is_float(signature.result);
    if (is_float_mul_add && !options_.has_float_mul_add) return;
    const std::uint32_t lanes = chance(30) ? 1 : lanes_;
    if (chance(5)) return convert_f16(lanes);
    Values x;
    for (const DType dtype : signature.operands) x.push_back(value({dtype, lanes}));
    if (signature.op == KernelOp::kBitcast && is_float(x[0].dtype)) {
      x[0] = b_.select(b_.eq(x[0], x[0]), x[0], b_.constant(x[0].dtype, 1));  // a NaN's bits are not said
    }
    if (x.size() == 1) return add(b_.emit(signature.op, signature.result, {x[0]}));
    if (x.size() == 2) return add(b_.emit(signature.op, signature.result, {x[0], x[1]}));
    add(b_.emit(signature.op, signature.result, {x[0], x[1], x[2]}));
  }

  void convert_f16(std::uint32_t lanes) {
    if (chance(50)) return add(b_.widen_f16(value({DType::kU16, lanes})));
    const MachineValue x = value({DType::kF32, lanes});
    add(b_.narrow_f16(b_.select(b_.eq(x, x), x, b_.constant(DType::kF32, 1))));  // a NaN's bits are not said
  }

  void reduce_or_extract() {
    static const std::vector<KernelOp> kOps = {KernelOp::kReduceAdd, KernelOp::kReduceMul, KernelOp::kReduceMin,
                                               KernelOp::kReduceMax, KernelOp::kExtract};
    if (lanes_ > 1 && chance(20)) return interleave();
    const KernelOp op = pick(kOps);
    const MachineValue vector = value({pick_dtype(op), lanes_});
    const auto lane = static_cast<std::uint32_t>(below(lanes_));
    add(op == KernelOp::kExtract ? b_.extract(vector, lane) : b_.reduce(op, vector));
  }

  void interleave() {
    const VectorType type{pick_dtype(KernelOp::kInterleave), lanes_};
    const MachineValue a = value(type), b = value(type);
    add(b_.interleave(a, b, chance(50)));
  }

  void load() {
    const MemoryHandle& memory = chance(50) ? pick(slots_) : pick(inputs_);
    const DType dtype = register_dtype(memory.dtype);
    const std::uint64_t kind = below(3);
    if (kind == 0) return add(b_.load(memory, small_offset(), chance(30) ? 1 : lanes_));
    const MachineValue mask = value({DType::kBool, lanes_});
    const MachineValue other = value({dtype, lanes_});
    if (kind == 1) return add(b_.load_masked(memory, small_offset(), mask, other));
    add(b_.gather(memory, small_offsets(), mask, other));
  }

  void store() {
    const MemoryHandle& slot = pick(slots_);
    const MachineValue stored = value({register_dtype(slot.dtype), lanes_});
    const std::uint64_t kind = below(3);
    if (kind == 0) return b_.store(slot, small_offset(), stored);
    const MachineValue mask = value({DType::kBool, lanes_});
    if (kind == 1) return b_.store_masked(slot, small_offset(), mask, stored);
    b_.scatter(slot, small_offsets(), mask, stored);
  }

  void atomic() {
    static const std::vector<KernelOp> kOps = {KernelOp::kAtomicAdd, KernelOp::kAtomicMin, KernelOp::kAtomicMax,
                                               KernelOp::kAtomicOr, KernelOp::kAtomicExchange};
    const MemoryHandle& memory = pick(shared_);
    const MachineValue operand = value({memory.dtype, 1});
    add(b_.atomic(pick(kOps), memory, small_offset(), operand));
  }

  void subgroup_op() {
    const MachineValue scalar = value({pick_dtype(KernelOp::kShuffle), 1});
    switch (below(4)) {
      case 0:
        return add(b_.thread_id());
      case 1:
        return add(b_.shuffle(scalar, value({DType::kI32, 1})));
      case 2:
        return add(b_.shuffle_xor(scalar, 0));
      default:
        return add(b_.ballot(value({DType::kBool, 1})));
    }
  }

  Values some_values() {
    Values chosen;
    for (std::uint64_t i = below(4); i > 0; --i) chosen.push_back(pick(pool_));
    return chosen;
  }

  Values values_like(const Values& types) {
    Values chosen;
    for (const MachineValue& type : types) chosen.push_back(value({type.dtype, type.lanes}));
    return chosen;
  }

  /// Statements whose values are forgotten at the end.
  Values block(int depth, const Values& parameters, const Values& result_types) {
    const std::size_t outer = pool_.size();
    for (const MachineValue& parameter : parameters) add(parameter);
    for (std::uint64_t i = 1 + below(6); i > 0; --i) statement(depth + 1);
    Values yields = values_like(result_types);
    pool_.resize(outer);
    return yields;
  }

  void loop(int depth) {
    const Values initial = some_values();
    const DType dtype = pick_index_dtype();
    const MachineValue lower = b_.constant_int(dtype, static_cast<std::int64_t>(below(4)) - 1);
    const MachineValue upper =
        chance(50) ? b_.convert(dtype, b_.size(Dim("n"))) : b_.constant_int(dtype, static_cast<std::int64_t>(below(5)));
    const MachineValue step = b_.constant_int(dtype, 1 + static_cast<std::int64_t>(below(3)));
    const Values results = b_.for_loop(lower, upper, step, initial, [&](MachineValue index, const Values& carried) {
      Values parameters = carried;
      parameters.push_back(index);
      return block(depth, parameters, initial);
    });
    for (const MachineValue& result : results) add(result);
  }

  void branch(int depth) {
    const Values types = some_values();
    const MachineValue condition = value({DType::kBool, 1});
    const Values results =
        b_.if_else(condition, [&] { return block(depth, {}, types); }, [&] { return block(depth, {}, types); });
    for (const MachineValue& result : results) add(result);
  }

  /// Every value and slot goes to the output of its dtype, each to a place of its own.
  void store_results() {
    b_.barrier();
    for (const MachineValue& value : std::vector(pool_)) {
      const MemoryHandle& output = outputs_[static_cast<std::size_t>(value.dtype)];
      if (chance(70)) {
        b_.store(output, result_place(value.dtype, value.lanes), value);
      } else {
        align_place(value.dtype, value.lanes);
        b_.store_streaming(output, result_place(value.dtype, value.lanes), value);
      }
    }
    for (const MemoryHandle& slot : slots_) {
      const MachineValue first = result_place(slot.dtype, kElements);
      for_whole_slot([&](MachineValue place, std::uint32_t lanes) {
        b_.store(outputs_[static_cast<std::size_t>(slot.dtype)], b_.add(first, place), b_.load(slot, place, lanes));
      });
    }
  }

  /// Makes the next place a multiple of `lanes`. A group's first place is one.
  void align_place(DType dtype, std::uint32_t lanes) {
    std::size_t& stored = stored_[static_cast<std::size_t>(dtype)];
    stored = (stored + lanes - 1) / lanes * lanes;
  }

  /// A place for `num_elements` elements in the output of the dtype where nothing else is stored.
  MachineValue result_place(DType dtype, std::uint32_t num_elements) {
    std::size_t& stored = stored_[static_cast<std::size_t>(dtype)];
    const MachineValue place = b_.add(base_, b_.i64(static_cast<std::int64_t>(stored)));
    stored += num_elements;
    MILLRACE_CHECK(stored <= static_cast<std::size_t>(kGroupElements));
    return place;
  }

  RandomKernelOptions options_;
  std::mt19937_64 random_;
  MachineBuilder b_;
  std::uint32_t lanes_;
  std::vector<MemoryHandle> inputs_, outputs_, slots_;  // inputs and outputs: one a dtype
  std::vector<MemoryHandle> shared_;                    // those of the slots that atomics take
  std::vector<std::size_t> stored_;                     // elements of each output used by a group
  std::vector<MachineValue> pool_;                      // in scope
  MachineValue base_;
};

}  // namespace

RandomMachineKernel make_random_kernel(std::uint64_t seed, const RandomKernelOptions& options) {
  return Generator(seed, options).run();
}

RandomMachineKernel as_threads(const RandomMachineKernel& made) {
  RandomMachineKernel threads = made;
  threads.num_groups = 1;
  MachineKernel& kernel = threads.kernel;
  kernel.num_groups = 1;
  kernel.workgroup_size = made.num_groups;
  for (MemorySlot& slot : kernel.slots) slot.kind = MemoryKind::kPrivate;
  const MachineValueId thread = kernel.types.push_back({DType::kI32, 1});
  auto& body = kernel.blocks[BlockId{}].instructions;
  for (MachineInstruction& instruction : body) {
    if (instruction.op != KernelOp::kWorkgroupId) continue;
    instruction.op = KernelOp::kConvert;
    instruction.operands = {thread};
  }
  body.insert(body.begin(),
              {.op = KernelOp::kThreadId, .operands = {}, .results = {thread}, .immediate = 0, .blocks = {}});
  return threads;
}

KernelData make_random_data(const RandomMachineKernel& made, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  KernelData data;
  for (std::size_t i = 0; i < made.kernel.buffers.size(); ++i) {
    const BufferArgument& buffer = made.kernel.buffers[i];
    data.emplace_back((made.num_elements[i] * size_bytes(buffer.dtype) + 7) / 8);
    if (!buffer.is_read()) continue;
    for (std::size_t element = 0; element < made.num_elements[i]; ++element) {
      const bool is_small = random() % 2 == 0;
      const auto small = static_cast<std::int64_t>(random() % 41) - 20;
      Scalar value = Scalar::from_int(buffer.dtype, small);
      if (buffer.dtype == DType::kBool) value.bits = random() & 1;
      if (!is_small && buffer.dtype != DType::kBool) value.bits = random() >> (64 - 8 * size_bytes(buffer.dtype));
      set_element(data.back().data(), element, value);
    }
  }
  return data;
}

std::vector<void*> pointers_to(KernelData& data) {
  std::vector<void*> pointers;
  for (auto& buffer : data) pointers.push_back(buffer.data());
  return pointers;
}

std::uint32_t run_interpreted(const RandomMachineKernel& made, KernelData& data) {
  return run_interpreted(made.kernel, pointers_to(data), made.sizes, made.num_groups);
}

}  // namespace millrace::test
