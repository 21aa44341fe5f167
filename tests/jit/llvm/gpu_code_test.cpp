// SPDX-License-Identifier: Apache-2.0
// Emission for GPUs, op by op: every instruction of kernel IR becomes instructions of the target.
#include <map>

#include <doctest/doctest.h>

#include "tests/jit/llvm/gpu_support.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

const GfxTarget& gfx(std::string_view name) { return *find_gfx_target(name); }

/// A kernel of one subgroup; `body` is given the thread's id.
MachineKernel subgroup_kernel(const GfxTarget& target, const std::function<void(MachineBuilder&, MachineValue)>& body,
                              std::uint32_t num_subgroups = 1) {
  MachineBuilder b("subgroup");
  b.set_workgroup(num_subgroups * target.subgroup_size, target.subgroup_size);
  body(b, b.thread_id());
  return b.finish();
}

/// Every lanewise op whose first operand is of this dtype, a result in a buffer each.
MachineKernel lanewise_kernel(const GfxTarget& target, DType dtype, std::uint32_t lanes) {
  return subgroup_kernel(target, [&](MachineBuilder& b, MachineValue thread) {
    std::map<std::pair<DType, std::size_t>, MachineValue> loaded;
    const MachineValue offset = b.mul(thread, b.i32(static_cast<std::int32_t>(lanes)));
    const auto operand = [&](DType of, std::size_t position) {
      const auto key = std::pair(of, position);
      if (!loaded.contains(key)) {
        const std::string name = std::string(to_text(of)) + std::to_string(position);
        loaded[key] = b.load(b.buffer(name, of, BufferAccess::kRead), offset, lanes);
      }
      return loaded[key];
    };
    for (const test::OpSignature& signature : test::lanewise_signatures()) {
      if (signature.operands[signature.op == KernelOp::kSelect ? 1 : 0] != dtype) continue;
      std::vector<MachineValue> x;
      for (std::size_t i = 0; i < signature.operands.size(); ++i) x.push_back(operand(signature.operands[i], i));
      MachineValue value;
      if (x.size() == 1) value = b.emit(signature.op, signature.result, {x[0]});
      if (x.size() == 2) value = b.emit(signature.op, signature.result, {x[0], x[1]});
      if (x.size() == 3) value = b.emit(signature.op, signature.result, {x[0], x[1], x[2]});
      b.store(b.buffer(signature.to_text(), signature.result, BufferAccess::kWrite), offset, value);
    }
  });
}

TEST_CASE("every lanewise op is emitted on every dtype and GPU target, without a call or a spill" * test::Sliced()) {
  for (const GfxTarget& target : gfx_targets()) {
    for (const DType dtype : kAllDTypes) {
      if (!is_register_dtype(dtype)) continue;
      const EmittedGpuKernel kernel(lanewise_kernel(target, dtype, 1), target);
      CHECK(!kernel.has("s_swappc"));
      CHECK(kernel.code().private_bytes == 0);
    }
  }
}

TEST_CASE("vectors of four are single loads and stores") {
  for (const GfxTarget& target : gfx_targets()) {
    const EmittedGpuKernel kernel(
        subgroup_kernel(target,
                        [](MachineBuilder& b, MachineValue thread) {
                          const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                                             y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
                          const MachineValue i = b.mul(thread, b.i32(4));
                          b.store(y, i, b.add(b.load(x, i, 4), b.load(x, i, 4)));
                        }),
        target);
    const bool names_bits = target.name.starts_with("gfx11") || target.name.starts_with("gfx12");
    CAPTURE(target.name);
    CHECK(kernel.has(names_bits ? "global_load_b128" : "global_load_dwordx4"));
    CHECK(kernel.has(names_bits ? "global_store_b128" : "global_store_dwordx4"));
  }
}

EmittedGpuKernel shuffle_kernel(const GfxTarget& target, DType dtype,
                                const std::function<MachineValue(MachineBuilder&, MachineValue)>& move) {
  return EmittedGpuKernel(subgroup_kernel(target,
                                          [&](MachineBuilder& b, MachineValue thread) {
                                            const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead),
                                                               y = b.buffer("y", dtype, BufferAccess::kWrite);
                                            b.store(y, thread, move(b, b.load(x, thread)));
                                          }),
                          target);
}

TEST_CASE("a flip of lane numbers uses the cheapest instruction") {
  struct Row {
    const char* target;
    std::uint32_t mask;
    const char* instruction;
  };
  const Row rows[] = {
      {"gfx1100", 1, "row_xmask:1"},        {"gfx1100", 6, "row_xmask:6"},        {"gfx1030", 15, "row_xmask:15"},
      {"gfx1201", 16, "v_permlanex16"},     {"gfx1030", 21, "v_permlanex16"},     {"gfx90a", 1, "quad_perm:[1,0,3,2]"},
      {"gfx90a", 2, "quad_perm:[2,3,0,1]"}, {"gfx942", 3, "quad_perm:[3,2,1,0]"}, {"gfx90a", 4, "swizzle(SWAP,4)"},
      {"gfx90a", 7, "row_half_mirror"},     {"gfx90a", 8, "row_ror:8"},           {"gfx90a", 15, "row_mirror"},
      {"gfx942", 16, "swizzle(SWAP,16)"},   {"gfx90a", 32, "ds_bpermute"},        {"gfx90a", 63, "ds_bpermute"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.target);
    CAPTURE(row.mask);
    const EmittedGpuKernel kernel = shuffle_kernel(
        gfx(row.target), DType::kI32, [&](MachineBuilder& b, MachineValue x) { return b.shuffle_xor(x, row.mask); });
    INFO(kernel.text());
    CHECK(kernel.has(row.instruction));
  }
}

TEST_CASE("a value from another lane is taken before the branch that uses it, while every lane is on") {
  for (const GfxTarget& target : gfx_targets()) {
    if (target.subgroup_size != 32) continue;
    CAPTURE(target.name);
    const EmittedGpuKernel kernel(
        subgroup_kernel(target,
                        [](MachineBuilder& b, MachineValue thread) {
                          const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                                             y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
                          const MachineValue mine = b.load(x, thread);
                          const MachineValue sum = b.add(mine, b.shuffle_xor(mine, 16));
                          b.if_else(
                              b.eq(thread, b.i32(0)),
                              [&] {
                                b.store(y, thread, sum);
                                return Values{};
                              },
                              [] { return Values{}; });
                        }),
        target);
    INFO(kernel.text());
    const std::size_t branch = std::min(kernel.text().find("s_and_saveexec"), kernel.text().find("v_cmpx"));
    CHECK(kernel.text().find("v_permlanex16") < branch);
    CHECK(branch != std::string::npos);
  }
}

TEST_CASE("shuffles move every dtype: wider values as two words, narrower ones as one") {
  for (const char* name : {"gfx90a", "gfx1100"}) {
    for (const DType dtype : kAllDTypes) {
      if (!is_register_dtype(dtype)) continue;
      CAPTURE(dtype);
      const EmittedGpuKernel kernel = shuffle_kernel(gfx(name), dtype, [](MachineBuilder& b, MachineValue x) {
        return b.shuffle(x, b.add(b.lane_id(), b.i32(1)));
      });
      std::size_t num_moves = 0;
      for (std::size_t at = 0; (at = kernel.text().find("ds_bpermute", at)) != std::string::npos; ++at) ++num_moves;
      CHECK(num_moves == (size_bytes(dtype) == 8 ? 2 : 1));
    }
  }
}

TEST_CASE("a constant lane is read, not permuted") {
  const EmittedGpuKernel kernel =
      shuffle_kernel(gfx("gfx1100"), DType::kF32, [](MachineBuilder& b, MachineValue x) { return b.broadcast(x, 5); });
  CHECK(kernel.has("v_readlane_b32"));
  CHECK(!kernel.has("ds_bpermute"));
}

MachineKernel exchange_kernel(const GfxTarget& target, std::uint32_t num_subgroups) {
  return subgroup_kernel(
      target,
      [&](MachineBuilder& b, MachineValue thread) {
        const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                           y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
        const auto num_threads = static_cast<std::int32_t>(num_subgroups * target.subgroup_size);
        const MemoryHandle slot = b.workgroup_memory(DType::kF32, static_cast<std::uint64_t>(num_threads), "slot");
        b.store(slot, thread, b.load(x, thread));
        b.barrier();
        b.store(y, thread, b.load(slot, b.sub(b.i32(num_threads - 1), thread)));
      },
      num_subgroups);
}

TEST_CASE("a barrier is an instruction if more than one subgroup waits at it") {
  for (const GfxTarget& target : gfx_targets()) {
    CHECK(EmittedGpuKernel(exchange_kernel(target, 2), target).has("s_barrier"));
    // LLVM knows that one subgroup runs in step.
    CHECK(!EmittedGpuKernel(exchange_kernel(target, 1), target).has("s_barrier"));
  }
}

/// Private memory of `num_elements`, written and read at variable places.
MachineKernel private_kernel(const GfxTarget& target, std::uint64_t num_elements, bool shares_bytes) {
  return subgroup_kernel(target, [&](MachineBuilder& b, MachineValue thread) {
    const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead),
                       y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
    const MachineValue count = b.i32(static_cast<std::int32_t>(num_elements)), zero = b.i32(0), one = b.i32(1);
    const auto use = [&](const char* name) {
      const MemoryHandle mine = b.private_memory(DType::kI32, num_elements, name);
      b.for_loop(zero, count, one, {}, [&](MachineValue i, const Values&) {
        b.store(mine, b.rem(b.load(x, b.add(thread, i)), count), i);
        return Values{};
      });
      b.store(y, thread, b.load(mine, b.rem(b.load(x, thread), count)));
    };
    use("first");
    if (!shares_bytes) return;
    b.barrier();
    use("second");
  });
}

TEST_CASE("small private memory is in registers, and large takes at most the plan's bytes") {
  for (const GfxTarget& target : gfx_targets()) {
    CAPTURE(target.name);
    CHECK(EmittedGpuKernel(private_kernel(target, 8, false), target).code().private_bytes == 0);
    for (const bool shares_bytes : {false, true}) {
      const EmittedGpuKernel large(private_kernel(target, 40, shares_bytes), target);
      CHECK(large.planned().memory.private_bytes == 160);
      CHECK(large.code().private_bytes >= 160);
      CHECK(large.code().private_bytes <= 160 + 16);  // and LLVM's slots for saved registers
    }
  }
}

TEST_CASE("an error is reported by an atomic or instruction in the device's scope") {
  for (const GfxTarget& target : gfx_targets()) {
    const EmittedGpuKernel kernel(subgroup_kernel(target,
                                                  [](MachineBuilder& b, MachineValue thread) {
                                                    const MemoryHandle x =
                                                        b.buffer("x", DType::kI32, BufferAccess::kRead);
                                                    b.report_error(b.lt(b.load(x, thread), b.i32(0)), 1);
                                                  }),
                                  target);
    CHECK(kernel.has("global_atomic_or"));
    CHECK(!kernel.has("cmpswap"));
  }
}

TEST_CASE("every atomic is one instruction, on buffers and in workgroup memory") {
  for (const GfxTarget& target : gfx_targets()) {
    for (const DType dtype : {DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
      const EmittedGpuKernel kernel(
          subgroup_kernel(target,
                          [&](MachineBuilder& b, MachineValue thread) {
                            const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kReadWrite),
                                               slot = b.workgroup_memory(dtype, target.subgroup_size, "slot");
                            MachineValue value = b.constant_int(dtype, 3);
                            b.store(slot, thread, value);
                            for (const KernelOp op : {KernelOp::kAtomicAdd, KernelOp::kAtomicMin, KernelOp::kAtomicMax,
                                                      KernelOp::kAtomicOr, KernelOp::kAtomicExchange}) {
                              value = b.atomic(op, x, thread, b.atomic(op, slot, thread, value));
                            }
                            b.store(x, thread, value);
                          }),
          target);
      CHECK(!kernel.has("cmpst"));
      CHECK(!kernel.has("cmpswap"));
      for (const char* name : {"ds_add", "ds_min", "ds_max", "ds_or", "global_atomic_add", "global_atomic_or"}) {
        CHECK(kernel.has(name));
      }
    }
  }
}

/// y = x moved by every memory instruction, `lanes` elements a thread.
MachineKernel moving_kernel(const GfxTarget& target, DType dtype, std::uint32_t lanes) {
  return subgroup_kernel(target, [&](MachineBuilder& b, MachineValue thread) {
    const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead),
                       y = b.buffer("y", dtype, BufferAccess::kReadWrite),
                       slot = b.workgroup_memory(dtype, target.subgroup_size * lanes, "slot");
    const MachineValue i = b.mul(thread, b.i32(static_cast<std::int32_t>(lanes)));
    const MachineValue offsets = b.add(b.splat(i, lanes), b.lane_iota(DType::kI32, lanes));
    const MachineValue mask = b.lt(offsets, b.i32(11)), other = b.load(x, i, lanes);
    b.store(slot, i, b.load_masked(x, i, mask, other));
    b.barrier();
    b.store_masked(y, i, mask, b.load(slot, i, lanes));
    b.scatter(slot, offsets, mask, b.gather(y, offsets, mask, other));
    b.store(y, b.convert(DType::kI64, i), b.gather(slot, b.convert(DType::kI64, offsets), mask, other));
  });
}

TEST_CASE("every load and store is emitted on every stored dtype, masked and not, by narrow and wide offsets" *
          test::Sliced()) {
  for (const char* name : {"gfx90a", "gfx1030", "gfx1100", "gfx1201"}) {
    for (const DType dtype : kAllDTypes) {
      for (const std::uint32_t lanes : {1u, 4u}) {
        CAPTURE(dtype);
        const EmittedGpuKernel kernel(moving_kernel(gfx(name), dtype, lanes), gfx(name));
        CHECK(kernel.has("global_store"));
        CHECK(kernel.code().private_bytes == 0);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
