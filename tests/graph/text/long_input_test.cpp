// SPDX-License-Identifier: Apache-2.0
// How much of its input a message repeats.
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/millrace.h"

namespace millrace {
namespace {

Status parsed(const std::string& body) { return parse_graph("graph g(%x: f32[4]) {\n" + body + "\n}").status(); }

Status parsed_safetensors(const std::string& header) {
  std::vector<std::byte> file(8 + header.size());
  const std::uint64_t size = header.size();
  std::memcpy(file.data(), &size, sizeof size);
  std::memcpy(file.data() + 8, header.data(), header.size());
  return Safetensors::parse("f", std::move(file)).status();
}

Status parsed_npy(const std::string& dict) {
  const std::string front = fmt::format("\x93NUMPY{}{}{}{}", '\2', '\0', static_cast<char>(dict.size() & 255),
                                        static_cast<char>(dict.size() >> 8)) +
                            std::string(2, '\0') + dict;
  return parse_npy("f", std::as_bytes(std::span(front))).status();
}

Status compiled(const CompileOptions& options) {
  return compile(parse_graph("graph g(%x: f32[4]) { %y = tanh(%x) return y = %y }").value(), options).status();
}

Session session_of(const std::string& variable) {
  GraphBuilder graph;
  const Tensor state = graph.variable(variable, {DType::kF32, {}}, 1);
  graph.update(state, state + state);
  return Session::create(compile(graph.finish().value()).value()).value();
}

struct Case {
  std::string where;
  std::function<Status(const std::string& name, const std::string& digits)> give;
};

const Case kCases[] = {
    {"integer", [](auto&, auto& digits) { return parsed("%c = constant(" + digits + ") : i32[] return c = %c"); }},
    {"fraction", [](auto&, auto& digits) { return parsed("%c = constant(1." + digits + ") : i32[] return c = %c"); }},
    {"float", [](auto&, auto& digits) { return parsed("%c = constant(" + digits + ") : f32[] return c = %c"); }},
    {"size", [](auto&, auto& digits) { return parsed("%c = constant(1) : f32[" + digits + "] return c = %c"); }},
    {"dims",
     [](auto&, auto&) {
       std::string ones = "1";
       for (int i = 0; i < 10'000; ++i) ones += ", 1";
       return parsed("%c = constant(1) : i32[" + ones + "] return c = %c");
     }},
    {"equation",
     [](auto& name, auto&) { return parsed("%c = einsum(%x) {equation = \"" + name + "\"} return c = %c"); }},
    {"op", [](auto& name, auto&) { return parsed("%c = " + name + "(%x) return c = %c"); }},
    {"value", [](auto& name, auto&) { return parsed("%c = tanh(%" + name + ") return c = %c"); }},
    {"value again", [](auto& n, auto&) { return parsed("%" + n + " = tanh(%x) %" + n + " = tanh(%x) return c = %x"); }},
    {"attribute", [](auto& name, auto&) { return parsed("%c = iota(%x) {" + name + " = 1} return c = %c"); }},
    {"size function",
     [](auto& name, auto&) { return parsed("%c = constant(1) : f32[" + name + "(1)] return c = %c"); }},
    {"symbol", [](auto& name, auto&) { return parsed("%c = constant(1) : f32[" + name + "] return c = %c"); }},
    {"output", [](auto& name, auto&) { return parsed("return " + name + " = %x, " + name + " = %x"); }},
    {"kernel", [](auto& name, auto&) { return parsed("%c = kernel \"" + name + "\"(%x) return c = %c"); }},
    {"file", [](auto& name, auto&) { return parsed("%c = constant(file(\"" + name + "\")) return c = %c"); }},
    {"graph file", [](auto& name, auto&) { return read_graph("/" + name).status(); }},
    {"input again",
     [](auto& name, auto&) {
       GraphBuilder graph;
       graph.input(name, DType::kF32, {4});
       graph.input(name, DType::kF32, {4});
       return graph.finish().status();
     }},
    {"npy dtype",
     [](auto& n, auto&) {
       return parsed_npy("{'descr': '" + n.substr(0, 60000) + "', 'fortran_order': False, 'shape': ()}");
     }},
    {"npy extent",
     [](auto&, auto& digits) {
       return parsed_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + digits.substr(0, 60000) + ",)}");
     }},
    {"npy key", [](auto& name, auto&) { return parsed_npy("{" + name.substr(0, 60000) + ": 1}"); }},
    {"safetensors name", [](auto& name, auto&) { return parsed_safetensors("{\"" + name + "\":1}"); }},
    {"safetensors dtype",
     [](auto& n, auto&) {
       return parsed_safetensors("{\"w\":{\"dtype\":\"" + n + "\",\"shape\":[],\"data_offsets\":[0,0]}}");
     }},
    {"device", [](auto& name, auto&) { return compiled({.device = name}); }},
    {"device option", [](auto& name, auto&) { return compiled({.device = "cpu:" + name + "=1"}); }},
    {"device level", [](auto& name, auto&) { return compiled({.device = "cpu:" + name.substr(0, 8000)}); }},
    {"target", [](auto& name, auto&) { return compiled({.targets = {name}}); }},
    {"target level", [](auto& name, auto&) { return compiled({.targets = {"cpu:" + name}}); }},
    {"generator",
     [](auto& name, auto&) {
       CompileOptions options;
       options.lowering.compile.force_generator = name;
       return compiled(options);
     }},
    {"algorithm",
     [](auto& name, auto&) {
       CompileOptions options;
       options.lowering.force_algorithm = name;
       return compiled(options);
     }},
    {"variable",
     [](auto& name, auto&) {
       float value = 0;
       return session_of("state").get(name, bind(value));
     }},
    {"known variable",
     [](auto& name, auto&) {
       float value = 0;
       return session_of(name).get("state", bind(value));
     }},
};

TEST_CASE("a message cuts the input that it repeats, however long that is") {
  const std::string name(1 << 20, 'n'), digits(10'000'000, '7');
  for (const Case& each : kCases) {
    CAPTURE(each.where);
    const Status status = each.give(name, digits);
    CAPTURE(status.message().substr(0, 2000));
    CHECK_FALSE(status.ok());
    CHECK(status.message().size() < 2000);
    CHECK(status.message().find("...") != std::string::npos);
  }
}

TEST_CASE("a message shows both ends of a long input, and few of many names") {
  CHECK(parsed("%c = constant(1" + std::string(1000, '0') + "2) : i32[] return c = %c").message() ==
        "graph:2:15: found 1" + std::string(159, '0') + "..." + std::string(63, '0') +
            "2, expected -2147483648 to 2147483647, the range of i32; change the number or the dtype\n%c = constant(1" +
            std::string(39, '0') + "...\n              ^");
  GraphBuilder graph;
  for (int i = 0; i < 100; ++i) {
    const Tensor state = graph.variable(fmt::format("v{:02}", i), {DType::kF32, {}}, 1);
    graph.update(state, state + state);
  }
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  float value = 0;
  CHECK(
      session.get("z", bind(value)).message() ==
      "get: the program has no variable 'z'; it has: v00, v01, v02, v03, v04, v05, v06, v07, v08, v09, v10, v11, v12, "
      "v13, v14, v15, v16, v17, v18, v19 and 80 more");
}

}  // namespace
}  // namespace millrace
