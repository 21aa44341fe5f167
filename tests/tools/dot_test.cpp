// SPDX-License-Identifier: Apache-2.0
// Stages in the language of Graphviz, read by a small parser for the subset that they use.
#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/golden.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

/// A graph: nodes by id with their labels, edges between them.
struct Dot {
  std::map<std::string, std::string> nodes;
  std::set<std::pair<std::string, std::string>> edges;
};

/// Reads "digraph NAME { statements }": a node, an edge, or a row of nodes, each with attributes or without.
class DotReader {
 public:
  explicit DotReader(std::string_view text) : text_(text) {}

  /// Empty if the text is not in this subset, or if an edge names an undefined node.
  std::optional<Dot> read() {
    if (!take("digraph") || !read_id() || !take("{")) return {};
    while (!take("}")) {
      if (!read_statement()) return {};
    }
    skip_spaces();
    if (!text_.empty()) return {};
    for (const auto& [from, to] : dot_.edges) {
      if (!dot_.nodes.contains(from) || !dot_.nodes.contains(to)) return {};
    }
    return dot_;
  }

 private:
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  /// A name, or text in quotes, in which a backslash escapes a quote or itself, or begins "\n".
  std::optional<std::string> read_id() {
    std::string id;
    if (take("\"")) {
      while (!text_.empty() && text_[0] != '"') {
        if (text_[0] == '\n') return {};
        if (text_[0] == '\\') {
          if (text_.size() < 2 || std::string_view("\"\\n").find(text_[1]) == std::string_view::npos) return {};
          id += text_[1] == 'n' ? '\n' : text_[1];
          text_.remove_prefix(2);
          continue;
        }
        id += text_[0];
        text_.remove_prefix(1);
      }
      return take("\"") ? std::optional(id) : std::nullopt;
    }
    skip_spaces();
    const std::size_t end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    id = text_.substr(0, end);
    text_.remove_prefix(id.size());
    return id.empty() ? std::nullopt : std::optional(id);
  }
  bool read_attributes(std::map<std::string, std::string>& attributes) {
    if (!take("[")) return true;
    do {
      const auto name = read_id();
      if (!name || !take("=")) return false;
      const auto value = read_id();
      if (!value) return false;
      attributes[*name] = *value;
    } while (take(","));
    return take("]");
  }
  bool read_statement() {
    if (take("{")) {
      if (!take("rank=same;")) return false;
      while (!take("}")) {
        const auto node = read_id();
        if (!node || !dot_.nodes.contains(*node) || !take(";")) return false;
      }
      return true;
    }
    const auto id = read_id();
    if (!id) return false;
    std::map<std::string, std::string> attributes;
    if (take("->")) {
      const auto to = read_id();
      if (!to || !read_attributes(attributes)) return false;
      dot_.edges.emplace(*id, *to);
    } else {
      if (!read_attributes(attributes)) return false;
      dot_.nodes[*id] = attributes["label"];
    }
    return take(";");
  }

  std::string_view text_;
  Dot dot_;
};

TEST_CASE("a graph is drawn for Graphviz") {
  const Workplace here;
  const std::string text = here.output_of("dump net.mr --stage graph --format dot");
  CHECK(test::golden_problem("graphviz.txt", text) == "");
  CHECK(DotReader(text).read());
}

TEST_CASE("dispatches are drawn: one node each, and an edge for each value that one stores and another reads") {
  const Workplace here;
  const std::string text = here.output_of("dump net.mr --stage dispatch --format dot");
  const std::optional<Dot> dot = DotReader(text).read();
  REQUIRE_MESSAGE(dot, text);
  CHECK(dot->nodes == std::map<std::string, std::string>{{"n0", "x"},
                                                         {"n1", "w"},
                                                         {"r0", "dot_tanh_0\n%product = dot\n%h = tanh"},
                                                         {"r1", "reduce_max_1\n%best = reduce_max"},
                                                         {"out0", "h"},
                                                         {"out1", "best"}});
  CHECK(dot->edges == std::set<std::pair<std::string, std::string>>{
                          {"n0", "r0"}, {"n1", "r0"}, {"r0", "r1"}, {"r0", "out0"}, {"r1", "out1"}});
}

TEST_CASE("nodes that store parts of a concat have edges to nodes that read all of it") {
  const Workplace here;
  here.write("parts.mr",
             "graph parts(%x: f32[4x4]) {\n  %a = exp(%x)\n  %b = cumulative_sum(%x) {axis = 0}\n"
             "  %y = concat(%a, %b) {axis = 0}\n  %z = reshape(%y) {shape = [32]}\n  %s = cumulative_sum(%z)\n"
             "  return s = %s\n}\n");
  const std::optional<Dot> dot = DotReader(here.output_of("dump parts.mr --stage dispatch --format dot")).read();
  REQUIRE(dot);
  CHECK(dot->edges == std::set<std::pair<std::string, std::string>>{
                          {"n0", "r0"}, {"n0", "r1"}, {"r0", "r2"}, {"r1", "r2"}, {"r2", "out0"}});
}

TEST_CASE("variables are drawn, with an edge from each new value to the variable that takes it") {
  const Workplace here;
  here.write("state.mr",
             "graph state(%x: f32[2]) {\n  %v = variable(0) : f32[2]\n  %next = add(%v, %x)\n  update %v = %next\n"
             "  return\n}\n");
  const std::optional<Dot> graph = DotReader(here.output_of("dump state.mr --stage graph --format dot")).read();
  REQUIRE(graph);
  CHECK(graph->nodes.at("n1") == "v");
  CHECK(graph->edges == std::set<std::pair<std::string, std::string>>{{"n0", "n2"}, {"n1", "n2"}, {"n2", "n1"}});
  const std::optional<Dot> dispatch = DotReader(here.output_of("dump state.mr --stage dispatch --format dot")).read();
  REQUIRE(dispatch);
  CHECK(dispatch->edges == std::set<std::pair<std::string, std::string>>{{"n0", "r0"}, {"n1", "r0"}, {"r0", "n1"}});
}

TEST_CASE("a schedule is drawn: steps, the memory that they touch, and which steps may run concurrently") {
  const Workplace here;
  const std::string text = here.output_of("dump two.mr --stage schedule --format dot --target cpu:avx2");
  const std::optional<Dot> dot = DotReader(text).read();
  REQUIRE_MESSAGE(dot, text);
  CHECK(dot->nodes == std::map<std::string, std::string>{{"m0", "external x\n40*rows bytes"},
                                                         {"m1", "external twice\n40*rows bytes"},
                                                         {"m2", "external values\n12*rows bytes"},
                                                         {"m3", "external indices\n24*rows bytes"},
                                                         {"s0", "@0 add_0 (twice)\ngroups 1"},
                                                         {"s1", "@1 topk_1 (values)\ngroups floor_div(rows + 3, 4)"}});
  CHECK(dot->edges == std::set<std::pair<std::string, std::string>>{
                          {"m0", "s0"}, {"s0", "m1"}, {"m1", "s1"}, {"s1", "m2"}, {"s1", "m3"}});
  CHECK(contains(text, "\n  { rank=same; s0; }\n  { rank=same; s1; }\n"));
}

TEST_CASE("names that hold quotes and line ends leave the language intact") {
  const Workplace here;
  here.write("hostile.mr", R"(graph "a\"b\\\n" (%"x\"\n": f32[4]) {
  %"y\"];" = exp(%"x\"\n")
  return "z\"" = %"y\"];"
}
)");
  for (const std::string stage : {"graph", "dispatch", "schedule"}) {
    const std::string text = here.output_of("dump hostile.mr --format dot --stage " + stage);
    CHECK_MESSAGE(DotReader(text).read(), text);
  }
}

}  // namespace
}  // namespace millrace
