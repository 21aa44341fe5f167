// SPDX-License-Identifier: Apache-2.0
// The instructions that emitted code must contain, per instruction set; never whole listings.
#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/emit_support.h"

namespace millrace {
namespace {

using Body = std::function<MachineValue(MachineBuilder&, MachineValue, MachineValue, MachineValue)>;

/// w[i] = body(x[i], y[i], z[i]) on vectors as wide as the instruction set's.
EmittedKernel emit_body(IsaLevel isa, DType result, const Body& body) {
  const TargetSpec spec{.isa = isa};
  const std::uint32_t lanes = spec.vector_bytes() / 4;
  MachineBuilder b("body");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead),
                     y = b.buffer("y", DType::kF32, BufferAccess::kRead),
                     z = b.buffer("z", DType::kF32, BufferAccess::kRead),
                     w = b.buffer("w", result, BufferAccess::kWrite);
  b.for_loop(b.i64(0), b.size(Dim("n")), b.i64(lanes), {}, [&](MachineValue i, const MachineBuilder::Values&) {
    b.store(w, i, body(b, b.load(x, i, lanes), b.load(y, i, lanes), b.load(z, i, lanes)));
    return MachineBuilder::Values{};
  });
  return EmittedKernel(b.finish(), isa, {}, {.want_ir = true, .want_asm = true});
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Whether one line has all the parts.
bool has_line(const std::string& text, const std::vector<std::string_view>& parts) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (std::ranges::all_of(parts, [&](std::string_view part) { return contains(line, part); })) return true;
    begin = end + 1;
  }
  return false;
}

struct Wanted {
  const char* claim;
  DType result;
  Body body;
  std::vector<std::vector<std::string_view>> lines[3];  // by IsaLevel; each line holds all its parts
  std::vector<std::string_view> unwanted;
};

const Wanted kWanted[] = {
    {"a multiply-add is one instruction where there is one",
     DType::kF32,
     [](auto& b, auto x, auto y, auto z) { return b.mul_add(x, y, z); },
     {{{"\tmulps"}, {"\taddps"}}, {{"vfmadd", "ps", "ymm"}}, {{"vfmadd", "ps", "zmm"}}},
     {}},
    {"a product and a sum stay two",
     DType::kF32,
     [](auto& b, auto x, auto y, auto z) { return b.add(b.mul(x, y), z); },
     {{{"\tmulps"}, {"\taddps"}}, {{"vmulps", "ymm"}, {"vaddps", "ymm"}}, {{"vmulps", "zmm"}, {"vaddps", "zmm"}}},
     {"fmadd"}},
    {"rounding is one instruction",
     DType::kF32,
     [](auto& b, auto x, auto, auto) { return b.floor(x); },
     {{{"roundps\t$9"}}, {{"vroundps\t$9", "ymm"}}, {{"vrndscaleps\t$9", "zmm"}}},
     {}},
    {"a square root is the exact one",
     DType::kF32,
     [](auto& b, auto x, auto, auto) { return b.sqrt(x); },
     {{{"sqrtps"}}, {{"vsqrtps", "ymm"}}, {{"vsqrtps", "zmm"}}},
     {"rsqrt"}},
    {"the larger of a value and a number is one instruction",
     DType::kF32,
     [](auto& b, auto x, auto, auto) { return b.max(x, b.constant_like(x, -80)); },
     {{{"\tmaxps"}}, {{"vmaxps", "ymm"}}, {{"vmaxps", "zmm"}}},
     {"cmpunord"}},
    {"conversion to integers keeps vectors whole",
     DType::kI32,
     [](auto& b, auto x, auto, auto) { return b.convert(DType::kI32, x); },
     {{{"cvttps2dq"}}, {{"vcvttps2dq", "ymm"}}, {{"vcvttps2dq", "zmm"}}},
     {"cvttss2si"}},
};

TEST_CASE("emitted code uses the special instructions of the instruction set") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (const Wanted& wanted : kWanted) {
      const EmittedKernel kernel = emit_body(isa, wanted.result, wanted.body);
      INFO(wanted.claim, ", on ", to_text(isa), "\n", kernel.assembly());
      for (const auto& line : wanted.lines[static_cast<std::size_t>(isa)]) CHECK(has_line(kernel.assembly(), line));
      for (const std::string_view unwanted : wanted.unwanted) CHECK_FALSE(contains(kernel.assembly(), unwanted));
      CHECK_FALSE(contains(kernel.assembly(), "call"));
    }
  }
}

TEST_CASE("an error is reported by an atomic or instruction") {
  MachineBuilder b("report");
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  b.report_error(b.lt(b.load(x, b.i64(0), 4), b.constant_int(DType::kI32, 0)), 1);
  const EmittedKernel kernel(b.finish(), IsaLevel::kBaseline, {}, {.want_asm = true});
  INFO(kernel.assembly());
  CHECK(contains(kernel.assembly(), "lock"));
}

TEST_CASE("IR and assembly are given on request") {
  const EmittedKernel kernel = emit_body(IsaLevel::kBaseline, DType::kF32, [](auto&, auto x, auto, auto) { return x; });
  CHECK(contains(kernel.output().ir, "define void @millrace_kernel("));
  CHECK(contains(kernel.assembly(), "millrace_kernel:"));
  MachineBuilder b("empty");
  const EmittedKernel silent(b.finish(), IsaLevel::kBaseline);
  CHECK(silent.output().ir.empty());
  CHECK(silent.assembly().empty());
}

TEST_CASE("an image runs at any address, with its constants on a page after its code") {
  for (const IsaLevel isa : host_isa_levels()) {
    const EmittedKernel kernel =
        emit_body(isa, DType::kF32, [](auto& b, auto x, auto, auto) { return b.mul(x, b.constant_like(x, 0.3)); });
    const ExecutableImage& image = kernel.output().image;
    CHECK(image.code_bytes % 4096 == 0);
    CHECK(image.bytes.size() > image.code_bytes);
    CHECK(image.entry_offset < image.code_bytes);
    // Two mappings that are alive at once stand at different addresses.
    const MappedCode first = MappedCode::map(image.bytes, image.code_bytes).value();
    const MappedCode second = MappedCode::map(image.bytes, image.code_bytes).value();
    for (const MappedCode* code : {&first, &second}) {
      std::vector<float> x(16, 10.0f), w(16, 0.0f);
      void* buffers[] = {x.data(), x.data(), x.data(), w.data()};
      const std::int64_t sizes[] = {16};
      std::uint32_t status = 0;
      const KernelArgs args{&status, nullptr, buffers, sizes};
      entry_of(*code, image)(&args, 0, 1);
      CHECK(w == std::vector<float>(16, 10.0f * 0.3f));
    }
  }
}

}  // namespace
}  // namespace millrace
