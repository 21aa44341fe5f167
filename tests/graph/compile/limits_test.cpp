// SPDX-License-Identifier: Apache-2.0
// The stated limits: 8 dims, sizes and offsets far beyond 32 bits.
#include <array>
#include <sys/mman.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// Zeros that take no memory until they are written.
class SparseMapping {
 public:
  explicit SparseMapping(std::size_t size_bytes)
      : size_bytes_(size_bytes),
        data_(::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    REQUIRE(data_ != MAP_FAILED);
  }
  SparseMapping(const SparseMapping&) = delete;
  SparseMapping& operator=(const SparseMapping&) = delete;
  ~SparseMapping() { ::munmap(data_, size_bytes_); }

  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }

 private:
  std::size_t size_bytes_;
  void* data_;
};

/// Addresses whose first part is one small piece of memory again and again; only the last `own_bytes`, a multiple of a
/// page, are memory of their own, which no store reaches whose offset has lost its high bits.
class RepeatedMapping {
 public:
  RepeatedMapping(std::size_t size_bytes, std::size_t own_bytes) : mapping_(size_bytes) {
    constexpr std::size_t kPiece = 16 << 20;
    const int file = ::memfd_create("repeated", 0);
    REQUIRE(::ftruncate(file, kPiece) == 0);
    const std::size_t repeated = size_bytes - own_bytes;
    for (std::size_t at = 0; at < repeated; at += kPiece) {
      void* const piece = ::mmap(bytes().data() + at, std::min(kPiece, repeated - at), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, file, 0);
      REQUIRE(piece != MAP_FAILED);
    }
    ::close(file);
  }
  std::span<std::uint8_t> bytes() const { return mapping_.as<std::uint8_t>(); }

 private:
  SparseMapping mapping_;
};

}  // namespace

TEST_CASE("every kind of kernel takes eight dims") {
  GraphBuilder builder;
  const Shape shape = {2, 1, 3, 2, 1, 2, 3, 2};
  const Tensor x = builder.input("x", DType::kI32, shape);
  builder.output("transposed", abs(transpose(x, {7, 0, 6, 1, 5, 2, 4, 3})));
  builder.output("sum", reduce_sum(x, {0, 3, 6}, true));
  builder.output("sorted", sort(x, 2).values);
  builder.output("sliced", slice(x, {1, 0, 0, 0, 0, 0, 0, 0}, {2, 1, 3, 2, 1, 2, 3, 2}));
  const Graph graph = builder.finish().value();
  const std::vector<reference::Tensor> inputs = {random_tensor({DType::kI32, shape}, -1000, 1000, 1)};
  const std::vector<reference::Tensor> expected = evaluate_graph(graph, inputs);
  for (const CompileOptions& options : test::every_way_to_compile()) {
    const Result<Program> program = compile(graph, options);
    REQUIRE(program.status().message() == "");
    const auto found = test::run_guarded(*program, inputs);
    REQUIRE(found.status().message() == "");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(test::find_difference((*found)[i], expected[i], {}) == "");
    }
  }
}

TEST_CASE("index expressions reach 2^40 elements") {
  GraphBuilder builder;
  const SizeExpr columns = Dim("columns");
  const Tensor x = builder.input("x", DType::kF32, {1 << 20, columns});
  builder.output("transposed", transpose(x, {1, 0}) + 1.0);
  builder.output("flat", reshape(x, {-1}) * 2.0);
  builder.output("last", slice(x, {(1 << 20) - 1, 0}, {1 << 20, columns}) + 1.0);
  CompileOptions options;
  options.context = test::test_context();
  const Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  const std::array extents = {Extents{1 << 20, 1 << 20}};
  const auto types = program->output_types(extents);
  REQUIRE(types.status().message() == "");
  CHECK((*types)[0].shape.num_elements().is(std::int64_t{1} << 40));
  CHECK((*types)[1].to_text() == "f32[1099511627776]");
  CHECK(size_bytes((*types)[2]).is(std::int64_t{1} << 22));
  // What a launch evaluates: no size, offset or number of workgroups leaves int64.
  const SymbolValues values = {{"columns", 1 << 20}};
  for (const Step& step : program->lowered().schedule.steps) {
    CHECK(step.num_groups.evaluate(values).ok());
    for (const SizeExpr& size : step.sizes) CHECK(size.evaluate(values).ok());
  }
  for (const Resource& resource : program->lowered().schedule.resources) {
    CHECK(resource.size_bytes.evaluate(values).ok());
    CHECK(resource.offset_bytes.evaluate(values).ok());
  }
}

TEST_CASE("a run reads and writes beyond 2^32 bytes") {
  constexpr std::int64_t kElements = (std::int64_t{1} << 30) + 4096;  // of 4 bytes
  constexpr std::int64_t kStep = 1 << 18;
  constexpr std::int64_t kPicked = (kElements + kStep - 1) / kStep;
  GraphBuilder builder;
  const Tensor x = builder.input("x", DType::kI32, {kElements});
  const Tensor i = builder.input("i", DType::kI64, {3});
  builder.output("picked", slice(x, {0}, {kElements}, {kStep}) + builder.fill(DType::kI32, {kPicked}, 1));
  builder.output("gathered", gather(x, i, 0));
  builder.output("rows",
                 slice(reshape(x, {kElements / 4096, 4096}), {kElements / 4096 - 1, 0}, {kElements / 4096, 4096}) +
                     builder.fill(DType::kI32, {1, 4096}, 1));
  const Graph graph = builder.finish().value();
  const SparseMapping mapping(static_cast<std::size_t>(kElements) * 4);
  const std::span<std::int32_t> elements = mapping.as<std::int32_t>();
  for (std::int64_t at = 0; at < kElements; at += kStep)
    elements[static_cast<std::size_t>(at)] = static_cast<int>(at / kStep);
  elements[kElements - 1] = 77;
  std::array<std::int64_t, 3> indices = {kElements - 1, -1, (std::int64_t{1} << 30)};
  CompileOptions options;
  options.context = test::test_context();
  const Result<Program> program = compile(graph, options);
  REQUIRE(program.status().message() == "");
  Session session = Session::create(*program).value();
  std::vector<std::int32_t> picked(kPicked), rows(4096);
  std::array<std::int32_t, 3> gathered{};
  const std::array inputs = {bind(elements), bind(indices)};
  const std::array outputs = {bind(picked), bind(gathered), bind(rows)};
  REQUIRE(session.run(inputs, outputs).message() == "");
  for (std::int64_t at = 0; at < kPicked; ++at) CHECK(picked[static_cast<std::size_t>(at)] == at + 1);
  CHECK(gathered == std::array<std::int32_t, 3>{77, 77, 4096});
  CHECK(rows.front() == 4097);
  CHECK(rows.back() == 78);
}

TEST_CASE("a run writes beyond 2^32 bytes" * test::Sliced()) {
  constexpr std::int64_t kRows = (std::int64_t{1} << 20) + 1, kColumns = 4096;
  GraphBuilder builder;
  const Tensor x = builder.input("x", DType::kU8, {kColumns});
  builder.output("y", broadcast_to(x, {kRows, kColumns}) + builder.fill(DType::kU8, {kRows, kColumns}, 1));
  CompileOptions options;
  options.context = test::test_context();
  const Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  Session session = Session::create(*program).value();
  const RepeatedMapping mapping(static_cast<std::size_t>(kRows * kColumns), static_cast<std::size_t>(kColumns));
  std::vector<std::uint8_t> row(kColumns);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::uint8_t>(i * 7);
  const std::array inputs = {bind(row)};
  const std::array outputs = {bind(mapping.bytes())};
  REQUIRE(session.run(inputs, outputs).message() == "");
  const std::span<std::uint8_t> last = mapping.bytes().last(kColumns);
  for (std::size_t i = 0; i < row.size(); ++i) REQUIRE(last[i] == static_cast<std::uint8_t>(row[i] + 1));
}

}  // namespace millrace
