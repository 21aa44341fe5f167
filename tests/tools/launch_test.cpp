// SPDX-License-Identifier: Apache-2.0
// The output of explain about an object is all that a program needs to launch it with HIP's own calls.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/hip_standin/application.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using hip::Error;
using test::Workplace;

std::uint64_t number(const std::string& text) { return std::stoull(text); }

/// A program that has only an object's file, explain's output about it, and HIP.
class Elsewhere {
 public:
  Elsewhere(hip_standin::Application& app, const std::string& object) : app_(app), object_(object) {
    REQUIRE(app_.hip.hipModuleLoadData(&module_, object_.data()) == Error::kSuccess);
    status_ = allocate("status", 4);
    REQUIRE(app_.hip.hipMemsetD32Async(status_, 0, 1, stream_) == Error::kSuccess);
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    app_.control.run_all();
    for (const auto& [name, memory] : memory_) CHECK(app_.hip.hipFree(memory.address) == Error::kSuccess);
    CHECK(app_.hip.hipModuleUnload(module_) == Error::kSuccess);
    CHECK(app_.hip.hipStreamDestroy(stream_) == Error::kSuccess);
  }

  /// Queues the steps of the text from "launch:" on. Returns how many launches that were.
  int follow(const std::string& text, const std::map<std::string, std::vector<std::int32_t>>& inputs) {
    static const std::regex memory(R"(  (input|output|variable|scratch|slab) +(?:(\S+): )?(\d+) bytes.*)");
    static const std::regex step(R"(  step \d+ +(\w+): (\d+) groups of (\d+) threads)");
    static const std::regex copy(R"(  step \d+ +copy (\d+) bytes from (.+) to (.+))");
    std::istringstream lines(text);
    int num_launches = 0;
    std::smatch found;
    for (std::string line; std::getline(lines, line) && !line.starts_with("  rules ");) {
      if (std::regex_match(line, found, memory)) {
        const std::string name = found[2].matched ? found[1].str() + " " + found[2].str() : "slab";
        allocate(name, number(found[3]));
        if (found[1] == "input") upload(name, inputs.at(found[2]));
      } else if (std::regex_match(line, found, copy)) {
        const Error error = app_.hip.hipMemcpyAsync(at(found[3]), at(found[2]), number(found[1]),
                                                    hip::CopyKind::kDeviceToDevice, stream_);
        CHECK(error == Error::kSuccess);
      } else if (std::regex_match(line, found, step)) {
        std::string arguments;
        REQUIRE(std::getline(lines, arguments));
        num_launches += launch(found[1], number(found[2]), number(found[3]), arguments) ? 1 : 0;
      } else {
        CHECK_MESSAGE(line.starts_with("launch: "), line);
      }
    }
    app_.control.run_all();
    CHECK(app_.peek<std::uint32_t>(status_) == 0);
    return num_launches;
  }

  template <class T>
  std::vector<T> values_of(const std::string& name) const {
    const Memory& memory = memory_.at(name);
    const std::vector<std::byte> bytes = app_.control.peek(memory.address, memory.size_bytes);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  struct Memory {
    std::byte* address = nullptr;
    std::size_t size_bytes = 0;
  };

  std::byte* allocate(const std::string& name, std::size_t size_bytes) {
    std::byte* const address = app_.allocate(size_bytes);
    memory_[name] = {address, size_bytes};
    return address;
  }

  void upload(const std::string& name, const std::vector<std::int32_t>& values) {
    const Memory& to = memory_.at(name);
    REQUIRE(to.size_bytes == 4 * values.size());
    const auto pinned = app_.pin<std::int32_t>(values.size());
    std::ranges::copy(values, pinned.begin());
    const Error error =
        app_.hip.hipMemcpyAsync(to.address, pinned.data(), to.size_bytes, hip::CopyKind::kHostToDevice, stream_);
    REQUIRE(error == Error::kSuccess);
    app_.control.run_all();
    REQUIRE(app_.hip.hipHostFree(pinned.data()) == Error::kSuccess);
  }

  /// "slab + 64"
  std::byte* at(const std::string& place) const {
    const std::size_t plus = place.find(" + ");
    std::byte* const base = memory_.at(place.substr(0, plus)).address;
    return plus == std::string::npos ? base : base + number(place.substr(plus + 3));
  }

  /// "64 bytes: u32* status, i32* input x, i64 9"
  bool launch(const std::string& symbol, std::uint64_t num_groups, std::uint64_t num_threads, const std::string& text) {
    static const std::regex argument(R"((\w+)(\*?) ([^,]+)(?:, |$))");
    const std::size_t begin = text.find(": ") + 2;
    std::vector<std::uint64_t> values;
    for (std::sregex_iterator each(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), argument), end;
         each != end; ++each) {
      const bool is_address = (*each)[2].length() == 1;
      const std::string what = (*each)[3];
      values.push_back(is_address ? reinterpret_cast<std::uint64_t>(at(what)) : number(what));
    }
    CHECK(number(text.substr(text.find_first_not_of(' '))) == 8 * values.size());
    if (num_groups == 0) return false;
    std::vector<void*> parameters;
    for (std::uint64_t& value : values) parameters.push_back(&value);
    hip::Function function = nullptr;
    REQUIRE(app_.hip.hipModuleGetFunction(&function, module_, symbol.c_str()) == Error::kSuccess);
    const Error error = app_.hip.hipModuleLaunchKernel(function, static_cast<unsigned>(num_groups), 1, 1,
                                                       static_cast<unsigned>(num_threads), 1, 1, 0, stream_,
                                                       parameters.data(), nullptr);
    CHECK(error == Error::kSuccess);
    return true;
  }

  hip_standin::Application& app_;
  const std::string object_;
  hip::Stream stream_ = app_.make_stream();
  hip::Module module_ = nullptr;
  std::byte* status_ = nullptr;
  std::map<std::string, Memory> memory_;
};

}  // namespace

TEST_CASE(
    "an object for a GPU can be launched elsewhere by explain's output, even if an input and an output have one "
    "name") {
  constexpr std::size_t kSize = 9000;  // more than workgroup memory holds: several kernels, with scratch between them
  const Workplace here;
  const auto graph_of = [](const std::string& size) {
    return "graph sorted(%x: i32[" + size +
           "]) {\n  %y, %i = sort(%x)\n  %z = neg(%y)\n  return y = %y, i = %i, z = %z, x = %x\n}\n";
  };
  here.write("n.mr", graph_of("n"));                        // scratch and sizes by the run
  here.write("fixed.mr", graph_of(std::to_string(kSize)));  // a slab
  std::vector<std::int32_t> x(kSize);
  for (std::size_t i = 0; i < kSize; ++i) x[i] = static_cast<std::int32_t>(i * 7919 % 4001) - 2000;
  std::vector<std::int64_t> order(kSize);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t i) { return std::pair(x[static_cast<std::size_t>(i)], i); });
  std::vector<std::int32_t> sorted = x, negated;
  std::ranges::sort(sorted);
  for (const std::int32_t each : sorted) negated.push_back(-each);
  for (const std::string gfx : {"gfx1100", "gfx90a"}) {
    for (const std::string name : {"n.mr", "fixed.mr"}) {
      CAPTURE(gfx);
      CAPTURE(name);
      const std::string target = " --target amdgpu:" + gfx;
      CHECK(here.output_of("dump " + name + " --stage object -o object.hsaco" + target) == "");
      const std::string dim = name == "n.mr" ? " --dim n=" + std::to_string(kSize) : "";
      const std::string text = here.output_of("explain " + name + target + dim);
      const std::size_t begin = text.find("launch: ");
      REQUIRE(begin != std::string::npos);
      hip_standin::Application app({.devices = {{.architecture = gfx}}});
      Elsewhere elsewhere(app, here.read("object.hsaco"));
      CHECK(elsewhere.follow(text.substr(begin), {{"x", x}}) > 3);
      CHECK((elsewhere.values_of<std::int32_t>("output y") == sorted));
      CHECK((elsewhere.values_of<std::int64_t>("output i") == order));
      CHECK((elsewhere.values_of<std::int32_t>("output z") == negated));
      CHECK((elsewhere.values_of<std::int32_t>("output x") == x));
    }
  }
}

}  // namespace millrace
