// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/include_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace millrace::structure {
namespace {

constexpr std::array<std::string_view, 6> kLayers = {"base", "hal", "jit", "isa", "ops", "graph"};
constexpr size_t kOutermost = kLayers.size();

/// The rank of a file's layer, which grows to the left; a file may include files of its own rank or a lower one.
size_t rank_of(std::string_view path) {
  for (std::string_view root : {"include/millrace/", "src/"}) {
    if (!path.starts_with(root)) continue;
    const auto inside = path.substr(root.size());
    const auto slash = inside.find('/');
    // millrace.h and the interop headers show the whole library, so they stand with its leftmost layer.
    if (slash == std::string_view::npos) return kLayers.size() - 1;
    const auto layer = std::ranges::find(kLayers, inside.substr(0, slash));
    return static_cast<size_t>(layer - kLayers.begin());
  }
  return kOutermost;
}

struct ForeignRule {
  std::initializer_list<std::string_view> headers;  // how the include begins
  std::initializer_list<std::string_view> homes;    // how the including file's path begins
};

const ForeignRule kForeignRules[] = {
    {{"llvm/", "llvm-c/", "lld/", "clang/"}, {"src/jit/llvm/", "tests/llvm_link/", "tests/isa_witness/"}},
    {{"xbyak/"}, {"src/jit/xbyak/"}},
    {{"hip/", "hsa/", "amd_comgr"}, {"src/hal/hip/", "tests/hal/hip/headers_test.cpp"}},
    {{"Eigen/"}, {"tests/reference/", "include/millrace/interop", "bench/"}},
    {{"tbb/", "oneapi/"}, {"include/millrace/interop", "tests/hal/"}},
    {{"cblas", "openblas"}, {"bench/"}},
    {{"benchmark/"}, {"bench/", "examples/microbenchmark.cpp", "tools/"}},
    {{"nlohmann/"}, {"src/graph/import/", "tools/", "bench/", "tests/"}},
    {{"doctest/"}, {"tests/"}},
    {{"CLI/"}, {"tools/", "bench/", "examples/"}},
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

std::string spell(const Include& include) {
  return fmt::format(fmt::runtime(include.quoted ? "\"{}\"" : "<{}>"), include.path);
}

/// Standard headers have neither folder nor extension.
bool is_standard(const Include& include) {
  return !include.quoted && include.path.find_first_of("/.") == std::string::npos;
}

}  // namespace

Violations check_include_arrows(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    for (const Include& include : includes_of(file)) {
      if (!include.quoted) continue;
      const SourceFile* target = resolve_include(tree, file, include);
      if (!target) {
        violations.push_back(
            fmt::format("{}:{}: includes {}, which is no file of this repository; use <...> for "
                        "others' headers",
                        file.path, include.line, spell(include)));
      } else if (rank_of(target->path) > rank_of(file.path)) {
        violations.push_back(
            fmt::format("{}:{}: includes {}, which stands to its left; the arrow is tests, tools, "
                        "examples, bench -> graph -> ops -> jit -> hal -> base, and isa -> jit",
                        file.path, include.line, target->path));
      }
    }
  }
  return violations;
}

Violations check_running_half(const SourceTree& tree) {
  constexpr std::string_view kRunning = "src/graph/run/";
  const auto is_foreign = [&](std::string_view path) {
    const bool is_private_graph = path.starts_with("src/graph/") && !path.starts_with(kRunning);
    return is_private_graph || path == "include/millrace/graph/graph.h" ||
           starts_with_any(path, {"include/millrace/jit/", "include/millrace/ops/", "src/jit/", "src/ops/"});
  };
  Violations violations;
  std::set<const SourceFile*> seen;
  std::vector<const SourceFile*> open;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with(kRunning)) open.push_back(&file);
  }
  while (!open.empty()) {
    const SourceFile& file = *open.back();
    open.pop_back();
    if (!seen.insert(&file).second) continue;
    for (const Include& include : includes_of(file)) {
      const SourceFile* target = include.quoted ? resolve_include(tree, file, include) : nullptr;
      if (target == nullptr) continue;
      if (is_foreign(target->path)) {
        violations.push_back(
            fmt::format("{}:{}: includes {}, and what runs programs reaches it; it stands with what "
                        "compiles",
                        file.path, include.line, target->path));
      } else {
        open.push_back(target);
      }
    }
  }
  return violations;
}

Violations check_executor_apart(const SourceTree& tree) {
  const std::initializer_list<std::string_view> own = {"src/isa/", "include/millrace/isa/"};
  Violations violations;
  for (const SourceFile& file : tree) {
    if (rank_of(file.path) == kOutermost || starts_with_any(file.path, own)) continue;
    for (const Include& include : includes_of(file)) {
      const SourceFile* target = include.quoted ? resolve_include(tree, file, include) : nullptr;
      if (target == nullptr || !starts_with_any(target->path, own)) continue;
      violations.push_back(
          fmt::format("{}:{}: includes {}, which is of the library millrace_isa; millrace does not "
                      "need it",
                      file.path, include.line, target->path));
    }
  }
  return violations;
}

Violations check_foreign_headers(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    for (const Include& include : includes_of(file)) {
      for (const ForeignRule& rule : kForeignRules) {
        if (!starts_with_any(include.path, rule.headers) || starts_with_any(file.path, rule.homes)) continue;
        violations.push_back(fmt::format("{}:{}: includes {}, which belongs in {} only", file.path, include.line,
                                         spell(include), fmt::join(rule.homes, ", ")));
      }
    }
  }
  return violations;
}

Violations check_public_headers(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("include/") || file.path.starts_with("include/millrace/interop")) continue;
    for (const Include& include : includes_of(file)) {
      const SourceFile* target = include.quoted ? resolve_include(tree, file, include) : nullptr;
      if (is_standard(include) || (target && target->path.starts_with("include/"))) continue;
      violations.push_back(
          fmt::format("{}:{}: includes {}; a public header includes the standard library and "
                      "include/millrace only",
                      file.path, include.line, spell(include)));
    }
  }
  return violations;
}

Violations check_oracle_independence(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("tests/reference/")) continue;
    for (const Include& include : includes_of(file)) {
      if (is_standard(include) || include.path.starts_with("Eigen/")) continue;
      const SourceFile* target = include.quoted ? resolve_include(tree, file, include) : nullptr;
      const std::string_view path = target ? std::string_view(target->path) : include.path;
      if (path == "include/millrace/ops/op.h" ||
          starts_with_any(path, {"include/millrace/base/", "tests/reference/"})) {
        continue;
      }
      violations.push_back(
          fmt::format("{}:{}: includes {}; the oracle includes the standard library, Eigen, base/ and "
                      "ops/op.h only",
                      file.path, include.line, spell(include)));
    }
  }
  return violations;
}

}  // namespace millrace::structure
