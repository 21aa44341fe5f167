// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/shape.h"

#include <algorithm>
#include <random>
#include <utility>

#include <doctest/doctest.h>

namespace millrace {
namespace {

const SizeExpr n = Dim("n");
const SizeExpr rows = Dim("rows").at_least(1).multiple_of(128);

/// Visits every element and takes the furthest.
std::int64_t furthest(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                      std::int64_t offset, std::size_t axis = 0) {
  if (axis == dims.size()) return offset + 1;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < dims[axis]; ++i) {
    end = std::max(end, furthest(dims, strides, offset + i * strides[axis], axis + 1));
  }
  return end;
}

}  // namespace

TEST_CASE("shapes and types read as they are written") {
  CHECK(Shape().to_text() == "[]");
  CHECK(Shape{4, 8}.to_text() == "[4x8]");
  CHECK(Shape{rows, 14336}.to_text() == "[rows, 14336]");
  CHECK(Shape{n + 1, n * 4}.to_text() == "[n + 1, 4*n]");
  CHECK(TensorType{DType::kBF16, {0, 3}}.to_text() == "bf16[0x3]");
  CHECK(TensorType{}.to_text() == "f32[]");
}

TEST_CASE("a shape counts its elements, and a type its bytes") {
  CHECK(Shape().num_elements().is(1));
  CHECK(Shape{4, 8, 2}.num_elements().is(64));
  CHECK(Shape{4, 0, n}.num_elements().is(0));
  CHECK(Shape{n, 8, n}.num_elements() == 8 * n * n);
  CHECK(size_bytes(TensorType{DType::kF16, {n, 3}}) == 6 * n);
  CHECK(size_bytes(TensorType{DType::kBool, {5}}).is(5));
  CHECK(Shape{4, 8}.is_static());
  CHECK(!Shape{4, n}.is_static());
  CHECK(Shape{4, n} == Shape{4, Dim("n")});
  CHECK(Shape{4, n} != Shape{n, 4});
}

TEST_CASE("row-major strides are the products of the inner extents") {
  CHECK(Layout::row_major(Shape{}).to_text() == "offset 0 strides []");
  CHECK(Layout::row_major(Shape{2, 3, 4}).to_text() == "offset 0 strides [12, 4, 1]");
  CHECK(Layout::row_major(Shape{2, n, 4}).to_text() == "offset 0 strides [4*n, 4, 1]");
  CHECK(Layout::row_major(Shape{2, 0, 4}).to_text() == "offset 0 strides [0, 4, 1]");
  CHECK(Layout{n, {-1}}.to_text() == "offset n strides [-1]");
}

TEST_CASE("a layout is row-major when every element is where row_major puts it") {
  const Shape shape{2, 1, 4};
  CHECK(Layout::row_major(shape).is_row_major(shape));
  CHECK(Layout{0, {4, 99, 1}}.is_row_major(shape));
  CHECK(Layout{7, {99, 99, 99}}.is_row_major(Shape{2, 0, 4}));
  CHECK(Layout::row_major(Shape{n, 4}).is_row_major(Shape{n, 4}));
  CHECK(!Layout{1, {4, 4, 1}}.is_row_major(shape));
  CHECK(!Layout{0, {8, 4, 1}}.is_row_major(shape));
  CHECK(!Layout{0, {4, 4, 2}}.is_row_major(shape));
  CHECK(!Layout{0, {4, 1}}.is_row_major(shape));
  CHECK(!Layout{0, {n, 1}}.is_row_major(Shape{2, 4}));
}

TEST_CASE("the extent of a dense layout is its number of elements, whether or not it may be empty") {
  for (const Shape& shape : {Shape{}, Shape{3, 5}, Shape{3, 0, 5}, Shape{rows, 8}, Shape{n, 8}, Shape{4, n, rows}}) {
    CAPTURE(shape.to_text());
    CHECK(extent_elements(shape, Layout::row_major(shape)) == shape.num_elements());
  }
}

TEST_CASE("an extent ends after the last element, in a padded, offset, broadcast or reversed layout") {
  const std::pair<SizeExpr, const char*> extents[] = {
      {extent_elements(Shape{3, 4}, Layout{5, {16, 1}}), "41"},
      {extent_elements(Shape{3, 4}, Layout{0, {0, 1}}), "4"},
      {extent_elements(Shape{3, 4}, Layout{8, {-4, 1}}), "12"},
      {extent_elements(Shape{0, 4}, Layout{8, {4, 1}}), "0"},
      {extent_elements(Shape{rows, 8}, Layout{5, {16, 1}}), "16*rows - 3"},
      {extent_elements(Shape{n, 8}, Layout{5, {16, 1}}), "16*n - 3*min(n, 1)"},
  };
  for (const auto& [extent, text] : extents) CHECK(extent.to_text() == text);
}

TEST_CASE("the extent equals the furthest element of all, on random layouts") {
  std::mt19937 random(11);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const Dim symbols[] = {Dim("s0"), Dim("s1"), Dim("s2")};
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const auto rank = static_cast<std::size_t>(pick(0, 3));
    std::vector<std::int64_t> dims(rank);
    std::vector<std::int64_t> strides(rank);
    std::vector<SizeExpr> symbolic_dims;
    SymbolValues values;
    Layout layout;
    std::int64_t offset = pick(0, 5);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      dims[axis] = pick(0, 4);
      strides[axis] = pick(-6, 12);
      offset += strides[axis] < 0 ? 4 * -strides[axis] : 0;
      layout.strides.emplace_back(strides[axis]);
      symbolic_dims.emplace_back(symbols[axis]);
      values[symbols[axis].name()] = dims[axis];
    }
    layout.offset = offset;
    const std::int64_t expected = furthest(dims, strides, offset);
    const Shape shape(std::vector<SizeExpr>(dims.begin(), dims.end()));
    CHECK(extent_elements(shape, layout).is(expected));
    CHECK(extent_elements(Shape(symbolic_dims), layout).evaluate(values).value() == expected);
  }
}

}  // namespace millrace
