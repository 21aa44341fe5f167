// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/ids.h"

#include <string>

#include <doctest/doctest.h>

namespace millrace {
namespace {

enum class NodeId : std::uint32_t {};
enum class ValueId : std::uint32_t {};
enum class Wide : std::uint64_t {};

template <class Vector, class Index>
concept Indexable = requires(Vector vector, Index index) { vector[index]; };

static_assert(DenseId<NodeId> && !DenseId<Wide> && !DenseId<std::uint32_t>);
static_assert(Indexable<IdVector<NodeId, int>, NodeId>);
static_assert(!Indexable<IdVector<NodeId, int>, ValueId>, "another id type must not index");
static_assert(!Indexable<IdVector<NodeId, int>, int>, "a number must not index");

}  // namespace

TEST_CASE("push_back gives ids in order, and an id finds its item") {
  IdVector<NodeId, std::string> names;
  CHECK(names.empty());
  const NodeId a = names.push_back("a");
  const NodeId b = names.push_back("b");
  CHECK(index_of(a) == 0);
  CHECK(index_of(b) == 1);
  names[a] += "!";
  CHECK(names[a] == "a!");
  CHECK(names[b] == "b");
  CHECK(names.size() == 2);
  CHECK(names.contains(b));
  CHECK(!names.contains(NodeId{2}));
}

TEST_CASE("an id vector iterates and compares by its items") {
  IdVector<NodeId, int> a;
  a.resize(2);
  a[NodeId{1}] = 7;
  int sum = 0;
  for (const int item : a) sum += item;
  CHECK(sum == 7);
  IdVector<NodeId, int> b = a;
  CHECK(a == b);
  b[NodeId{0}] = 1;
  CHECK(a != b);
}

}  // namespace millrace
