// SPDX-License-Identifier: Apache-2.0
// Graphs in files, with constants in files next to them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/squeezenet.h"

namespace millrace {
namespace {

void write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5f);
  return values;
}

TEST_CASE("a graph in a file comes back, large constants from their own file") {
  TemporaryDirectory directory;
  GraphBuilder builder("weights");
  Tensor x = builder.input("x", DType::kF32, {17});
  const std::vector<float> values = counted(17);
  Tensor large = builder.constant<float>({17}, values);
  builder.output("y", x * 2.0 + large);
  const Graph graph = builder.finish().value();
  const std::string path = directory.path() + "/g.mr";
  REQUIRE(write_graph(graph, path).message() == "");
  CHECK(graph_difference(read_graph(path).value(), graph) == "");
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  CHECK(test::golden_problem("file_with_large_constant.txt", text) == "");
}

TEST_CASE("a graph that is written to no file has its large constants in the text") {
  TemporaryDirectory directory;
  const std::string link = directory.path() + "/null.mr";
  std::filesystem::create_symlink("/dev/null", link);
  GraphBuilder builder("weights");
  builder.output("y", builder.constant<float>({17}, counted(17)));
  CHECK(write_graph(builder.finish().value(), link).message() == "");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a whole network in a file comes back, and one without large constants is one file") {
  TemporaryDirectory directory;
  const Graph network = build_squeezenet(1);
  REQUIRE(write_graph(network, directory.path() + "/network.mr").ok());
  CHECK(graph_difference(read_graph(directory.path() + "/network.mr").value(), network) == "");
  CHECK(std::filesystem::file_size(directory.path() + "/network.mr") < 20'000);
  TemporaryDirectory other;
  REQUIRE(write_graph(parse_graph("graph g(%x: f32[]) { return x = %x }").value(), other.path() + "/g.mr").ok());
  CHECK(std::distance(std::filesystem::directory_iterator(other.path()), {}) == 1);
}

TEST_CASE("constants come from NumPy files and safetensors entries next to the text") {
  TemporaryDirectory directory;
  const std::vector<float> values = counted(6);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  REQUIRE(write_npy(directory.path() + "/a.npy", {DType::kF32, {2, 3}}, bytes).ok());
  REQUIRE(write_safetensors(directory.path() + "/b.safetensors",
                            {{"b.weight", {{DType::kF32, {2, 3}}, bytes}}, {"c", {{DType::kF32, {}}, bytes.first(4)}}})
              .ok());
  const std::string path = directory.path() + "/g.mr";
  write(path,
        "graph g() {\n"
        "  %a = constant(file(\"a.npy\"))\n"
        "  %b = constant(file(\"b.safetensors\", \"b.weight\")) : f32[2, 3]\n"
        "  %c = constant(file(\"b.safetensors\", \"c\"))\n"
        "  %sum = add(%a, %b)\n"
        "  return sum = %sum, c = %c\n"
        "}\n");
  const Result<Graph> graph = read_graph(path);
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  for (const std::uint32_t node : {0, 1}) {
    const SharedBytes& data = std::get<ConstantNode>(graph->nodes[NodeId{node}].what).data;
    CHECK(std::ranges::equal(bytes, data));
  }
  CHECK(round_trip_problem(*graph) == "");
}

TEST_CASE("large constants that lie in a mapped file stay there, and the text names their offsets") {
  TemporaryDirectory directory;
  const std::vector<float> values = counted(40);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  std::filesystem::create_directory(directory.path() + "/models");
  const std::string path = directory.path() + "/g.mr", weights = directory.path() + "/models/w.onnx";
  write(weights, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const SharedBytes file(bytes);
  GraphBuilder builder("weights");
  builder.output("inside", builder.constant_shared({DType::kF32, {4, 5}}, file.part(12, 80)));
  builder.output("outside", builder.constant<float>({17}, counted(17)));
  const Graph graph = builder.finish().value();
  const MappedFile mapped[] = {{weights, file}};
  REQUIRE(write_graph(graph, path, mapped).message() == "");
  std::ifstream stream(path);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  CHECK(text ==
        "graph weights() {\n"
        "  %0 = constant(file(\"models/w.onnx\", 12)) : f32[4x5]\n"
        "  %1 = constant(file(\"g.mr.safetensors\", \"1\")) : f32[17]\n"
        "  return inside = %0, outside = %1\n"
        "}\n");
  CHECK(graph_difference(read_graph(path).value(), graph) == "");
}

TEST_CASE("a mistake in the offset of a constant's elements is reported at its place") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/g.mr", at = directory.path() + "/w.bin";
  write(at, std::string(20, '\2'));
  const auto error = [&](const std::string& constant) {
    write(path, "graph g() {\n  %a = constant(" + constant + "\n  return a = %a\n}\n");
    const std::string message = read_graph(path).status().message();
    return message.substr(0, message.find('\n')).substr(path.size());
  };
  CHECK(error("file(\"w.bin\", 21)) : f32[]") ==
        ":2:21: file '" + at + "': found the offset 21, expected at most 20, the file's size; is the file complete?");
  CHECK(error("file(\"w.bin\", 4)) : f32[5]") ==
        ":2:21: found 16 bytes from the offset to the file's end, expected 20 for f32[5]; is the file complete?");
  CHECK(error("file(\"w.bin\", 4))") == ":3:3: found 'return', expected ':' and a type; say what the elements are");
  CHECK(error("file(\"w.bin\", 4)) : f32[n]") ==
        ":2:37: found f32[n], expected dims that are numbers, as the elements are in a file; give numbers");
  CHECK(error("file(\"w.bin\", 0)) : bool[4]") ==
        ":2:21: found a bool that is neither 0 nor 1; is it the file that the text was written for?");
  CHECK(error("file(\"none.bin\", 0)) : bool[4]") ==
        ":2:21: file '" + directory.path() +
            "/none.bin': the file cannot be opened: No such file or directory; check the path");
}

TEST_CASE("a mistake in a constant's file is reported at its place") {
  TemporaryDirectory directory;
  const std::vector<float> values = counted(6);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  const std::string at = directory.path(), path = at + "/g.mr";
  REQUIRE(write_npy(at + "/a.npy", {DType::kF32, {6}}, bytes).ok());
  REQUIRE(write_safetensors(at + "/b.safetensors", {{"b", {{DType::kF32, {6}}, bytes}}}).ok());
  write(at + "/c.npy", "no array");
  const auto error = [&](const std::string& constant) {
    write(path, "graph g() {\n  %a = constant(" + constant + "\n  return a = %a\n}\n");
    return read_graph(path).status().message();
  };
  CHECK(error("file(\"b.npy\"))") ==
        path + ":2:21: npy '" + at +
            "/b.npy': the file cannot be opened: No such file or directory; check the path\n"
            "  %a = constant(file(\"b.npy\"))\n"
            "                    ^");
  CHECK(error("file(\"c.npy\"))") == path + ":2:21: npy '" + at +
                                         "/c.npy': does not begin with \\x93NUMPY and a version; is it an .npy file?\n"
                                         "  %a = constant(file(\"c.npy\"))\n"
                                         "                    ^");
  CHECK(error("file(\"b.safetensors\", \"a\"))") == path + ":2:21: safetensors '" + at +
                                                        "/b.safetensors': has no 'a'; it has: b\n"
                                                        "  %a = constant(file(\"b.safetensors\", \"a\"))\n"
                                                        "                    ^");
  CHECK(error("file(\"a.npy\")) : f32[7]") ==
        path +
            ":2:34: found f32[7], expected f32[6], the result of constant; correct the type or leave it out\n"
            "  %a = constant(file(\"a.npy\")) : f32[7]\n"
            "                                 ^");
  CHECK(error("file(\"a.npy\" ;") == path +
                                         ":2:30: found ';', expected ')'; close the file's name\n"
                                         "  %a = constant(file(\"a.npy\" ;\n"
                                         "                             ^");
  CHECK(error("file(\"a.npy\");") == path +
                                         ":2:30: found ';', expected ')'; close the constant\n"
                                         "  %a = constant(file(\"a.npy\");\n"
                                         "                             ^");
}

TEST_CASE("a byte order mark before a graph is skipped, and columns are counted after it") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/g.mr";
  write(path, "\xef\xbb\xbfgraph g(%x: f32[]) { return x = %x }");
  CHECK(read_graph(path).status().message() == "");
  write(path, "\xef\xbb\xbfgraph g(%x: f32[]) { return x = %y }");
  CHECK(read_graph(path).status().message() ==
        path +
            ":1:33: found '%y', expected a value that is defined above; define it first\n"
            "graph g(%x: f32[]) { return x = %y }\n"
            "                                ^");
}

TEST_CASE("a graph's file that cannot be read or written is an error") {
  CHECK(read_graph("/nowhere/g.mr").status().message() ==
        "graph '/nowhere/g.mr': the file cannot be opened: No such file or directory; check the path");
  const Graph graph = parse_graph("graph g(%x: f32[]) { return x = %x }").value();
  CHECK(write_graph(graph, "/nowhere/g.mr").message() ==
        "graph '/nowhere/g.mr': the file cannot be written: No such file or directory; check the path and the space");
  TemporaryDirectory directory;
  write(directory.path() + "/g.mr", "graph g(%x: f32[]) {\n  return x = %y\n}\n");
  CHECK(read_graph(directory.path() + "/g.mr").status().message() ==
        directory.path() +
            "/g.mr:2:14: found '%y', expected a value that is defined above; define it first\n"
            "  return x = %y\n"
            "             ^");
}

}  // namespace
}  // namespace millrace
