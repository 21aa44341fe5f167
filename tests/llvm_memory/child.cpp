// SPDX-License-Identifier: Apache-2.0
// Compiles a graph for the host and a GPU, both by LLVM, while memory runs out. Exits with 0 if the call succeeds and
// the program is right, or if it reports that there is no memory. usage:
//
//   child count                   prints how many allocations LLVM's threads make
//   child one N, child from N     allocation N of those fails, or all from there on
//   child limit BYTES THREADS     the process may take BYTES more of address space
#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "millrace/jit/llvm_module.h"
#include "millrace/millrace.h"
#include "tests/llvm_memory/failing_malloc.h"

namespace {

using namespace millrace;

constexpr std::string_view kGraph =
    "graph g(%x: f32[8, 100]) { %s = mul(%x, %x) %t = tanh(%s) %m = reduce_max(%t) {axes = [1]} %k, %i = sort(%x) "
    "{axis = 1} return s = %s, m = %m, k = %k }";

CompileOptions options_of(std::uint32_t num_threads) {
  ContextOptions context;
  context.cache_directory = "";
  context.read_only_cache_directories.clear();
  return {.device = fmt::format("cpu:baseline,threads={}", num_threads),
          .targets = {"cpu:baseline", "amdgpu:gfx1100"},
          .context = make_default_context(context)};
}

bool is_right(const Program& program) {
  std::array<float, 800> x{}, squares{}, sorted{};
  std::array<float, 8> maxima{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 32;
  auto session = Session::create(program);
  if (!session.ok() || !session->run({bind(x)}, {bind(squares), bind(maxima), bind(sorted)}).ok()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (squares[i] != x[i] * x[i] || (i % 100 > 0 && sorted[i - 1] > sorted[i])) return false;
  }
  return true;
}

/// Whether the program is right, or the status says that memory ran out.
bool is_good(const Result<Program>& program) {
  if (!program.ok() && program.status().code() == StatusCode::kResourceExhausted) return true;
  if (program.ok() && is_right(*program)) return true;
  std::fprintf(stderr, "found %s\n", program.ok() ? "wrong results" : program.status().message().c_str());
  return false;
}

std::uint64_t address_space() {
  std::uint64_t num_pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &num_pages) != 1) num_pages = 0;
  if (file != nullptr) std::fclose(file);
  return num_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t more) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit now{address_space() + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &now);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

void print(const Status& status) { std::printf("%s\n", status.ok() ? "ok" : status.message().c_str()); }

int compile_within(std::uint64_t more, std::uint32_t num_threads) {
  Graph graph = parse_graph(kGraph).value();
  const CompileOptions options = options_of(num_threads);
  Result<Program> program = Status::out_of_memory();
  {
    const AddressSpaceLimit limit(more);
    program = compile(graph, options);
  }
  print(program.status());
  return is_good(program) && is_good(compile(graph, options)) ? 0 : 1;
}

int compile_failing(std::uint64_t first, bool and_all_after) {
  if (!check_llvm_module().ok()) return 1;
  const Graph graph = parse_graph(kGraph).value();
  const CompileOptions options = options_of(1);
  test::fail_malloc_of_other_threads(first, and_all_after);
  const Result<Program> program = compile(graph, options);
  test::stop_failing();
  print(program.status());
  return is_good(program) && is_good(compile(graph, options)) ? 0 : 1;
}

int count() {
  if (compile_failing(UINT64_MAX - 1, false) != 0) return 1;
  std::printf("%lu\n", test::num_mallocs_of_other_threads());
  return 0;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(120);  // ends a process that hangs
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "count") return count();
  if (argc == 3 && (what == "one" || what == "from")) return compile_failing(number(argv[2]), what == "from");
  if (argc == 4 && what == "limit") return compile_within(number(argv[2]), static_cast<std::uint32_t>(number(argv[3])));
  return 2;
}
