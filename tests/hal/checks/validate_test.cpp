// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <doctest/doctest.h>

#include "tests/hal/list_builder.h"

// Each rule of validate() broken alone, with the whole message. Hazards are in hazards_test.cpp.

namespace millrace {
namespace {

const KernelInfo kAdd{.name = "add", .num_buffers = 2, .num_sizes = 1, .buffer_is_written = {false, true}};

/// Two bindings of 64 bytes and the kernel 'add', to be broken.
struct Fixture : ListBuilder {
  BindingIndex x = input("x", 64);
  BindingIndex y = output("y", 64);
  KernelIndex add = kernel(kAdd);

  void expect(const std::string& message) const {
    const Status status = validate(list);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() == message);
  }
};

}  // namespace

TEST_CASE("an empty list is valid") { CHECK(validate(CommandList{}).ok()); }

TEST_CASE_FIXTURE(Fixture, "a list that keeps every rule is valid") {
  fill(range(y, 0, 32), 0xffff, 2);
  copy(range(x, 0, 32), range(y, 32, 32));
  barrier();
  dispatch(add, 4, {range(x, 0, 64), range(y, 0, 64)}, {16});
  CHECK(validate(list).ok());
  CHECK(validate(list).message().empty());
}

TEST_CASE_FIXTURE(Fixture, "a binding's length is a size of the list") {
  list.bindings[x].size_bytes = SizeIndex{9};
  expect("binding 0 (input 'x'): its length is size 9, expected less than 1");
}

TEST_CASE_FIXTURE(Fixture, "a binding's length is not negative") {
  list.bindings[y].size_bytes = list.add_size(-1);
  expect("binding 1 (output 'y'): -1 bytes, expected at least 0");
}

TEST_CASE_FIXTURE(Fixture, "a kernel declares for each buffer whether it writes it") {
  list.kernels[add].buffer_is_written.pop_back();
  expect("kernel 0 ('add'): buffer_is_written has 1 entries, expected 2 like num_buffers");
}

TEST_CASE_FIXTURE(Fixture, "a fill's pattern has 1, 2, 4 or 8 bytes") {
  for (std::uint32_t bytes : {0u, 3u, 5u, 16u, 0xffff'ffffu}) {
    list.commands.clear();
    fill(range(y, 0, 64), 0, bytes);
    expect("command 0 (fill): a pattern of " + std::to_string(bytes) + " bytes, expected 1, 2, 4 or 8");
  }
}

TEST_CASE_FIXTURE(Fixture, "a fill's pattern fits its bytes") {
  fill(range(y, 0, 64), 0x1'0000, 2);
  expect("command 0 (fill): pattern 0x10000 in 2 bytes, expected one that fits");
}

TEST_CASE_FIXTURE(Fixture, "a fill's length is a multiple of its pattern") {
  fill(range(y, 0, 6), 0, 4);
  expect("command 0 (fill): 6 bytes, expected a multiple of its pattern's 4 bytes");
}

TEST_CASE_FIXTURE(Fixture, "a fill's symbolic length is a multiple of its pattern whatever the symbols are") {
  const SizeExpr n = Dim("n").at_most(8);
  fill(range(y, 0, n * 4), 0, 4);
  CHECK(validate(list).ok());
  fill(range(y, 40, n * 2), 0, 4);
  expect("command 1 (fill): 2*n bytes, expected a multiple of its pattern's 4 bytes");
}

TEST_CASE_FIXTURE(Fixture, "a copy's lengths are equal") {
  copy(range(x, 0, 8), range(y, 0, 16));
  expect("command 0 (copy): 8 bytes from the source, 16 to the destination, expected equal lengths");
}

TEST_CASE_FIXTURE(Fixture, "a copy's ranges do not overlap") {
  copy(range(y, 0, 16), range(y, 15, 16));
  expect("command 0 (copy): source [0, 16) and destination [15, 31) of output 'y' overlap, expected disjoint ranges");
  list.commands.clear();
  copy(range(y, 0, 16), range(y, 16, 16));
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "a range's binding and sizes are the list's") {
  fill({.binding = BindingIndex{2}, .offset_bytes = list.add_size(0), .length_bytes = list.add_size(64)}, 0, 1);
  expect("command 0 (fill) destination: binding 2, expected less than 2");
  list.commands.clear();
  fill({.binding = y, .offset_bytes = SizeIndex{7}, .length_bytes = list.add_size(64)}, 0, 1);
  expect("command 0 (fill) destination: offset is size 7, expected less than 2");
  list.commands.clear();
  copy({.binding = x, .offset_bytes = list.add_size(0), .length_bytes = SizeIndex{8}}, range(y, 0, 64));
  expect("command 0 (copy) source: length is size 8, expected less than 2");
}

TEST_CASE_FIXTURE(Fixture, "a range lies inside its binding") {
  fill(range(y, 60, 8), 0, 4);
  expect("command 0 (fill) destination: bytes [60, 68) of output 'y', which has 64 bytes");
  list.commands.clear();
  copy(range(x, 0, 65), range(y, 0, 65));
  expect(
      "command 0 (copy) source: bytes [0, 65) of input 'x', which has 64 bytes\n"
      "command 0 (copy) destination: bytes [0, 65) of output 'y', which has 64 bytes");
}

TEST_CASE_FIXTURE(Fixture, "a range whose end overflows int64 is outside, and does not wrap around") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  fill(range(y, kMax, kMax), 0, 1);
  expect(
      "command 0 (fill) destination: bytes [9223372036854775807, 9223372036854775807) of output 'y', which has 64 "
      "bytes");
}

TEST_CASE_FIXTURE(Fixture, "a symbolic range is refused when it leaves its binding whatever the symbols are") {
  const SizeExpr n = Dim("n").at_least(1);
  const BindingIndex z = output("z", n * 4);
  dispatch(add, 1, {range(x, 0, 64), range(z, 0, n * 4)}, {n});
  CHECK(validate(list).ok());
  dispatch(add, 1, {range(x, 0, 64), range(z, n * 4, 4)}, {n});
  expect("command 1 (dispatch 'add') buffer 1: bytes [4*n, 4*n + 4) of output 'z', which has 4*n bytes");
}

TEST_CASE_FIXTURE(Fixture, "a range starts at 0 or later and has no negative length") {
  fill(range(y, -4, 8), 0, 1);
  expect("command 0 (fill) destination: offset -4, expected at least 0");
  list.commands.clear();
  fill(range(y, 4, -4), 0, 1);
  expect("command 0 (fill) destination: length -4, expected at least 0");
}

TEST_CASE_FIXTURE(Fixture, "inputs and constants are never written") {
  const BindingIndex weights = binding("weights", BindingKind::kConstant, 64);
  fill(range(x, 0, 64), 0, 1);
  expect("command 0 (fill) destination: writes input 'x', expected an output or a transient");
  list.commands.clear();
  copy(range(x, 0, 64), range(weights, 0, 64));
  expect("command 0 (copy) destination: writes constant 'weights', expected an output or a transient");
  list.commands.clear();
  dispatch(add, 1, {range(weights, 0, 64), range(x, 0, 64)}, {16});
  expect("command 0 (dispatch 'add') buffer 1: writes input 'x', expected an output or a transient");
}

TEST_CASE_FIXTURE(Fixture, "outputs and transients are written and read") {
  const BindingIndex scratch = binding("scratch", BindingKind::kTransient, 64);
  fill(range(scratch, 0, 64), 0, 1);
  barrier();
  dispatch(add, 1, {range(scratch, 0, 64), range(y, 0, 64)}, {16});
  barrier();
  copy(range(y, 0, 64), range(scratch, 0, 64));
  CHECK(validate(list).ok());
}

TEST_CASE_FIXTURE(Fixture, "a dispatch's kernel is in the list") {
  dispatch(KernelIndex{1}, 1, {range(x, 0, 64), range(y, 0, 64)}, {16});
  expect("command 0 (dispatch '?1'): kernel 1, expected less than 1");
}

TEST_CASE_FIXTURE(Fixture, "a dispatch gives as many buffers and sizes as its kernel takes") {
  dispatch(add, 1, {range(x, 0, 64)}, {16});
  expect("command 0 (dispatch 'add'): 1 buffers, expected 2 like its kernel");
  list.commands.clear();
  dispatch(add, 1, {range(x, 0, 64), range(y, 0, 64)}, {});
  expect("command 0 (dispatch 'add'): 0 sizes, expected 1 like its kernel");
}

TEST_CASE_FIXTURE(Fixture, "the bytes that a dispatch touches are inside each of its buffers") {
  ListBuilder b;
  const BindingIndex in = b.input("in", 64), out = b.output("out", 64);
  const SizeExpr n = Dim("n");
  const KernelIndex scale = b.kernel({.name = "scale", .num_buffers = 2, .buffer_is_written = {false, true}});
  b.dispatch(scale, 1, {b.range(in, 0, 64), b.range(out, 16, 32)});
  auto& touched = std::get<DispatchCommand>(b.list.commands[0]).touched;
  const auto message = [&](const BufferRange& first, const BufferRange& second) {
    touched = {first, second};
    return validate(b.list).message();
  };
  CHECK(message(b.range(in, 0, 64), b.range(out, 16, 32)) == "");
  CHECK(message(b.range(in, 60, 4), b.range(out, 47, 1)) == "");
  CHECK(message(b.range(in, 0, n), b.range(out, n, 4)) == "");  // a run decides
  CHECK(message(b.range(in, 0, 65), b.range(out, 16, 32)) ==
        "command 0 (dispatch 'scale') buffer 0: touches bytes [0, 65) of input 'in', expected bytes within [0, 64) of "
        "input 'in'");
  CHECK(message(b.range(in, 0, 64), b.range(out, 15, 4)) ==
        "command 0 (dispatch 'scale') buffer 1: touches bytes [15, 19) of output 'out', expected bytes within [16, 48) "
        "of output 'out'");
  CHECK(message(b.range(in, n + 65, 1), b.range(in, 16, 32)) ==
        "command 0 (dispatch 'scale') buffer 0: touches bytes [n + 65, n + 66) of input 'in', expected bytes within "
        "[0, 64) of input 'in'\n"
        "command 0 (dispatch 'scale') buffer 1: touches bytes [16, 48) of input 'in', expected bytes within [16, 48) "
        "of output 'out'");
  const BufferRange unknown{in, SizeIndex{99}, SizeIndex{0}};
  CHECK(message(unknown, b.range(out, 16, 32)) ==
        "command 0 (dispatch 'scale') buffer 0: the offset that it touches is size 99, expected less than " +
            std::to_string(b.list.sizes.size()));
  CHECK(message(b.range(in, 0, 64), b.range(out, 16, 32)) == "");
  const auto rows = [&](const SizeExpr& pitch, const SizeExpr& row) {
    touched[1].rows = {{b.list.add_size(pitch), b.list.add_size(row)}};
    return validate(b.list).message();
  };
  CHECK(rows(16, 16) == "");
  CHECK(rows(n, 16) == "");
  CHECK(rows(16, 17) ==
        "command 0 (dispatch 'scale') buffer 1: touches rows of 17 bytes every 16 bytes, expected row lengths from 0 "
        "to the pitch");
  CHECK(rows(16, -1) ==
        "command 0 (dispatch 'scale') buffer 1: touches rows of -1 bytes every 16 bytes, expected row lengths from 0 "
        "to the pitch");
  touched[1].rows = {{SizeIndex{99}, SizeIndex{0}}};
  CHECK(validate(b.list).message() ==
        "command 0 (dispatch 'scale') buffer 1: the pitch of the rows that it touches is size 99, expected less than " +
            std::to_string(b.list.sizes.size()));
  touched.pop_back();
  touched[0] = b.range(in, 0, 64);
  CHECK(validate(b.list).message() ==
        "command 0 (dispatch 'scale'): states the touched bytes of 1 buffers, expected all 2 or none");
}

TEST_CASE_FIXTURE(Fixture, "a dispatch's sizes are the list's") {
  dispatch(add, 1, {range(x, 0, 64), range(y, 0, 64)}, {16});
  std::get<DispatchCommand>(list.commands[0]).sizes[0] = SizeIndex{77};
  expect("command 0 (dispatch 'add'): size argument 0 is size 77, expected less than 4");
  std::get<DispatchCommand>(list.commands[0]).sizes[0] = SizeIndex{0};
  std::get<DispatchCommand>(list.commands[0]).num_groups = SizeIndex{78};
  expect("command 0 (dispatch 'add'): num_groups is size 78, expected less than 4");
}

TEST_CASE_FIXTURE(Fixture, "a dispatch has 0 to 2^32 - 1 groups, and threads") {
  const auto with_groups = [&](const SizeExpr& groups) {
    list.commands.clear();
    dispatch(add, groups, {range(x, 0, 64), range(y, 0, 64)}, {16});
  };
  with_groups(0);
  CHECK(validate(list).ok());
  with_groups(4294967295);
  CHECK(validate(list).ok());
  with_groups(SizeExpr(Dim("n")));
  CHECK(validate(list).ok());
  with_groups(4294967296);
  expect("command 0 (dispatch 'add'): 4294967296 groups, expected 0 to 4294967295");
  with_groups(-1);
  expect("command 0 (dispatch 'add'): -1 groups, expected 0 to 4294967295");
  with_groups(SizeExpr(Dim("n").at_least(4294967296)));
  expect("command 0 (dispatch 'add'): n groups, expected 0 to 4294967295");
  list.kernels[add].workgroup_size = 256;
  with_groups(16777215);
  CHECK(validate(list).ok());
  with_groups(16777216);
  expect("command 0 (dispatch 'add'): 16777216 groups, expected 0 to 16777215");
}

TEST_CASE_FIXTURE(Fixture, "every broken rule has its line") {
  list.bindings[x].size_bytes = list.add_size(-8);
  fill(range(x, 0, 3), 0x100, 1);
  barrier();
  dispatch(KernelIndex{5}, -2, {range(BindingIndex{4}, 0, 1)}, {});
  expect(
      "binding 0 (input 'x'): -8 bytes, expected at least 0\n"
      "command 0 (fill): pattern 0x100 in 1 bytes, expected one that fits\n"
      "command 0 (fill) destination: writes input 'x', expected an output or a transient\n"
      "command 0 (fill) destination: bytes [0, 3) of input 'x', which has -8 bytes\n"
      "command 2 (dispatch '?5'): -2 groups, expected 0 to 4294967295\n"
      "command 2 (dispatch '?5'): kernel 5, expected less than 1\n"
      "command 2 (dispatch '?5') buffer 0: binding 4, expected less than 2");
}

}  // namespace millrace
