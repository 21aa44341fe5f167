// SPDX-License-Identifier: Apache-2.0
// What the examples with ONNX models share: WAV files, and states that become variables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "examples/common/keep_state.h"
#include "examples/common/wave_file.h"
#include "millrace/millrace.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using common::keep_state;
using common::read_wave;
using common::write_wave;
using test::Workplace;

Graph counting_graph(const SizeExpr& size) {
  GraphBuilder graph("counting");
  const Tensor x = graph.input("x", DType::kF32, {size}), sum = graph.input("sum", DType::kF32, {size});
  graph.output("y", x * 2.0);
  graph.output("next_sum", sum + x);
  return graph.finish().value();
}

TEST_CASE("a state that is kept goes from run to run and begins with zeros") {
  Graph graph = counting_graph(2);
  keep_state(graph, "sum", "next_sum").throw_if_error();
  const Program program = compile(graph).value();
  REQUIRE(program.inputs().size() == 1);
  REQUIRE(program.outputs().size() == 1);
  Session session = Session::create(program).value();
  const std::vector<float> x = {1, 10};
  std::vector<float> y(2), sum(2);
  for (int i = 1; i <= 3; ++i) {
    session.run({bind("x", x)}, {bind("y", y)}).throw_if_error();
    session.get("sum", bind(sum)).throw_if_error();
    CHECK(y == std::vector<float>{2, 20});
    CHECK(sum == std::vector<float>{static_cast<float>(i), static_cast<float>(10 * i)});
  }
}

TEST_CASE("a state that a graph lacks is refused") {
  Graph graph = counting_graph(2);
  for (const auto& [input, output] : {std::pair("total", "next_sum"), std::pair("sum", "total")}) {
    CHECK(keep_state(graph, input, output).message() ==
          std::string("graph 'counting': found the inputs x, sum and the outputs y, next_sum, expected a state that "
                      "comes in as '") +
              input + "' and leaves as '" + output + "'; is this the right model?");
  }
}

TEST_CASE("a state with a symbolic dim is refused when the graph is compiled") {
  Graph graph = counting_graph(Dim("n"));
  keep_state(graph, "sum", "next_sum").throw_if_error();
  CHECK(compile(graph).status().message() ==
        "%sum = variable: the type is f32[n], expected dims that are numbers, as a session allocates it before a run; "
        "give the maximum");
}

TEST_CASE("a written WAV file has the bytes that its format prescribes, and is read back") {
  const Workplace here;
  const std::string path = here.path("a.wav");
  const std::vector<float> samples = {0, 0.5f, -1, 1, 2, -2, 1.0f / 32768};
  write_wave(path, 16000, samples).throw_if_error();
  const std::string expected(
      "RIFF\x32\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x0e\0\0\0"
      "\0\0\0\x40\0\x80\xff\x7f\xff\x7f\0\x80\x01\0",
      58);
  CHECK(here.read("a.wav") == expected);
  const float top = 32767.0f / 32768;
  CHECK(read_wave(path, 16000).value() == std::vector<float>{0, 0.5f, -1, top, top, -1, 1.0f / 32768});

  // A chunk of odd size, which a byte follows, is skipped.
  here.write("list.wav", expected.substr(0, 12) + std::string("LIST\x03\0\0\0abc\0", 12) + expected.substr(12));
  CHECK(read_wave(here.path("list.wav"), 16000).value().size() == 7);
}

TEST_CASE("other files are refused as WAV files") {
  const Workplace here;
  const auto error_of = [&](const std::string& bytes, std::uint32_t rate = 16000) {
    here.write("a.wav", bytes);
    const std::string message = read_wave(here.path("a.wav"), rate).status().message();
    const std::string where = "wave '" + here.path("a.wav") + "': ";
    REQUIRE(message.starts_with(where));
    return message.substr(where.size());
  };
  write_wave(here.path("good.wav"), 16000, std::vector<float>(4)).throw_if_error();
  const std::string good = here.read("good.wav");
  CHECK(error_of("") == "does not begin with RIFF and WAVE; convert it to a WAV file");
  CHECK(error_of("RIFF") == "does not begin with RIFF and WAVE; convert it to a WAV file");
  CHECK(error_of(std::string(good).replace(8, 4, "AVI ")) ==
        "does not begin with RIFF and WAVE; convert it to a WAV file");
  CHECK(error_of(good.substr(0, 40)) == "has no chunk 'data'; the file was cut off");
  CHECK(error_of(good.substr(0, 47)) == "chunk 'data' has 3 bytes, expected 8; the file was cut off");
  const auto mismatch = [](const std::string& found, int rate) {
    return fmt::format("found {}, expected {}, 1, 16 and 1 (PCM); convert it", found, rate);
  };
  CHECK(error_of(good, 8000) == mismatch("rate 16000, channels 1, bits 16, format 1", 8000));
  const auto with = [&](std::size_t at) { return std::string(good).replace(at, 1, "\x03"); };
  CHECK(error_of(with(20)) == mismatch("rate 16000, channels 1, bits 16, format 3", 16000));
  CHECK(error_of(with(22)) == mismatch("rate 16000, channels 3, bits 16, format 1", 16000));
  CHECK(error_of(with(34)) == mismatch("rate 16000, channels 1, bits 3, format 1", 16000));
  CHECK(read_wave(here.path("none.wav"), 16000).status().message() ==
        "wave '" + here.path("none.wav") + "': the file cannot be opened: No such file or directory; check the path");
}

}  // namespace
}  // namespace millrace
