// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/map/plain_nest.h"

#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "millrace/jit/loop_kernel_builder.h"

namespace millrace::test {
namespace {

using Point = std::vector<std::int64_t>;

double read_element(DType dtype, const std::byte* at) {
  return visit_dtype(dtype, [&]<class T>() -> double {
    T value;
    std::memcpy(static_cast<void*>(&value), at, sizeof(T));
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>)
      return static_cast<double>(static_cast<float>(value));
    else
      return static_cast<double>(value);
  });
}

void write_element(DType dtype, std::byte* at, double number) {
  visit_dtype(dtype, [&]<class T>() {
    T value;
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>)
      value = T(static_cast<float>(number));
    else
      value = static_cast<T>(number);
    std::memcpy(at, &value, sizeof(T));
  });
}

/// Where the tensor's access stands at `point`, in elements; nothing when it is outside.
std::optional<std::int64_t> place_of(const PlainTensor& tensor, const Point& point) {
  std::int64_t place = tensor.offset;
  for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    std::int64_t index = tensor.indices[axis].offset;
    for (std::size_t d = 0; d < point.size(); ++d) index += tensor.indices[axis].coefficients[d] * point[d];
    if (index < 0 || index >= tensor.extents[axis]) return std::nullopt;
    place += index * tensor.strides[axis];
  }
  return place;
}

class Reference {
 public:
  Reference(const PlainNest& nest, const PlainBuffers& buffers) : nest_(nest), buffers_(buffers) {
    const GuardedMemory& result = buffers.back();
    bytes_.assign(result.data(), result.data() + result.size_bytes());
  }

  std::vector<std::byte> run() {
    Point point(nest_.extents.size());
    walk(point, 0, nest_.num_parallel, [&] { finish(point); });
    return std::move(bytes_);
  }

 private:
  template <class F>
  void walk(Point& point, std::size_t dim, std::size_t end, F&& f) {
    if (dim == end) return f();
    for (point[dim] = 0; point[dim] < nest_.extents[dim]; ++point[dim]) walk(point, dim + 1, end, f);
    point[dim] = 0;
  }

  double term(const Point& point) const {
    double value = 0;
    for (std::size_t i = 0; i < nest_.operands.size(); ++i) {
      const PlainTensor& tensor = nest_.operands[i];
      const std::optional<std::int64_t> place = place_of(tensor, point);
      const std::byte* data = buffers_[i].data();
      const double element =
          place ? read_element(tensor.dtype, data + *place * static_cast<std::int64_t>(size_bytes(tensor.dtype)))
                : *tensor.fill;
      switch (nest_.combine) {
        case PlainNest::Combine::kMul:
          value = i == 0 ? element : value * element;
          break;
        case PlainNest::Combine::kAdd:
          value = i == 0 ? element : value + element;
          break;
        case PlainNest::Combine::kMax:
          value = i == 0 ? element : std::max(value, element);
          break;
      }
    }
    return value;
  }

  double reduce(Point& point) {
    double best = 0, index = 0;
    bool is_first = true;
    walk(point, nest_.num_parallel, nest_.extents.size(), [&] {
      const double value = term(point);
      switch (*nest_.reduction) {
        case ReductionKind::kSum:
          best = is_first ? value : best + value;
          break;
        case ReductionKind::kProd:
          best = is_first ? value : best * value;
          break;
        case ReductionKind::kMin:
          best = is_first ? value : std::min(best, value);
          break;
        case ReductionKind::kMax:
          best = is_first ? value : std::max(best, value);
          break;
        case ReductionKind::kArgMin:
        case ReductionKind::kArgMax:
          if (is_first || (*nest_.reduction == ReductionKind::kArgMin ? value < best : value > best)) {
            best = value;
            index = static_cast<double>(point.back());
          }
          break;
      }
      is_first = false;
    });
    if (is_first) return identity();
    return returns_index(*nest_.reduction) ? index : best;
  }

  double identity() const {
    const bool is_real = is_float(nest_.result.dtype);
    const double infinity = std::numeric_limits<double>::infinity();
    switch (*nest_.reduction) {
      case ReductionKind::kProd:
        return 1;
      case ReductionKind::kMin:
        return is_real ? infinity : std::numeric_limits<std::int32_t>::max();
      case ReductionKind::kMax:
        return is_real ? -infinity : std::numeric_limits<std::int32_t>::lowest();
      default:
        return 0;
    }
  }

  void finish(Point& point) {
    double value = nest_.reduction ? reduce(point) : term(point);
    if (nest_.adds_index) value += static_cast<double>(point[0]);
    const auto place = static_cast<std::size_t>(*place_of(nest_.result, point));
    write_element(nest_.result.dtype, &bytes_[place * size_bytes(nest_.result.dtype)], value);
  }

  const PlainNest& nest_;
  const PlainBuffers& buffers_;
  std::vector<std::byte> bytes_;
};

/// A number, or a symbol that is bound to it.
class Namer {
 public:
  Namer(std::uint32_t is_symbolic, SymbolValues& symbols) : bits_(is_symbolic), symbols_(symbols) {}
  SizeExpr size(const std::string& name, std::int64_t value) {
    const bool is_symbol = bits_ & 1;
    bits_ = bits_ >> 1 | bits_ << 31;
    if (!is_symbol) return value;
    symbols_[name] = value;
    Dim symbol = Dim(name).at_least(0).at_most(value + 1000);
    return value > 0 && value % 4 == 0 ? symbol.multiple_of(4) : symbol;
  }

 private:
  std::uint32_t bits_;
  SymbolValues& symbols_;
};

KernelTensor tensor_of(const PlainTensor& plain, const std::string& name, Namer& namer) {
  KernelTensor tensor{name, {plain.dtype, {}}, {plain.offset, {}}};
  std::vector<SizeExpr> extents(plain.extents.begin(), plain.extents.end());
  tensor.type.shape = Shape(std::move(extents));
  for (std::size_t axis = 0; axis < plain.strides.size(); ++axis) {
    tensor.layout.strides.push_back(namer.size(name + std::to_string(axis), plain.strides[axis]));
  }
  return tensor;
}

std::vector<AffineIndex> indices_of(const PlainTensor& plain) {
  std::vector<AffineIndex> indices;
  for (const PlainIndex& index : plain.indices) {
    indices.push_back({index.offset, {index.coefficients.begin(), index.coefficients.end()}});
  }
  return indices;
}

}  // namespace

std::int64_t PlainTensor::num_elements() const {
  std::int64_t last = offset;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) return 0;
    last += (extents[axis] - 1) * strides[axis];
  }
  return last + 1;
}

LoopKernel PlainNest::to_kernel(std::uint32_t is_symbolic, SymbolValues& symbols) const {
  Namer namer(is_symbolic, symbols);
  LoopKernelBuilder nest("plain");
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::string name = "n" + std::to_string(d);
    const SizeExpr extent = namer.size(name, extents[d]);
    d < num_parallel ? nest.parallel(name, extent) : nest.reduction(name, extent);
  }
  const DType computed = body_dtype(operands[0].dtype);
  BodyBuilder& b = reduction ? nest.term() : nest.epilogue();
  std::optional<BodyValue> value;
  for (const PlainTensor& plain : operands) {
    const OperandId operand = nest.operand(tensor_of(plain, "x" + std::to_string(&plain - operands.data()), namer));
    LoadOptions options;
    if (plain.fill) options.fill = Scalar::from_double(body_dtype(plain.dtype), *plain.fill);
    const BodyValue element = b.convert(computed, nest.load(b, operand, indices_of(plain), options));
    if (!value) {
      value = element;
    } else {
      value = combine == Combine::kMul   ? b.mul(*value, element)
              : combine == Combine::kAdd ? b.add(*value, element)
                                         : b.max(*value, element);
    }
  }
  if (reduction) value = nest.reduce(*reduction, *value);
  BodyBuilder& epilogue = nest.epilogue();
  if (adds_index) value = epilogue.add(*value, epilogue.convert(value->dtype, epilogue.index(0)));
  nest.store(tensor_of(result, "y", namer), indices_of(result), epilogue.convert(body_dtype(result.dtype), *value));
  return nest.finish().value();
}

PlainBuffers make_buffers(const PlainNest& nest, GuardedMemory::Side side, std::uint32_t seed) {
  std::mt19937 random(seed);
  PlainBuffers buffers;
  const bool is_product = nest.reduction == ReductionKind::kProd;
  const auto add = [&](const PlainTensor& tensor, auto&& next) {
    const std::size_t size = size_bytes(tensor.dtype);
    const auto count = static_cast<std::size_t>(tensor.num_elements());
    GuardedMemory memory(count * size, side);
    for (std::size_t i = 0; i < count; ++i) write_element(tensor.dtype, memory.data() + i * size, next());
    buffers.push_back(std::move(memory));
  };
  for (const PlainTensor& tensor : nest.operands) {
    // No zeros: the sign of a zero depends on the order of summing.
    add(tensor, [&] {
      const double magnitude = is_product ? 1.0 : 1.0 + static_cast<double>(random() % 3);
      return random() % 2 == 0 ? magnitude : -magnitude;
    });
    buffers.back().make_read_only();
  }
  add(nest.result, [] { return 77.0; });
  return buffers;
}

std::vector<std::byte> expected_result(const PlainNest& nest, const PlainBuffers& buffers) {
  return Reference(nest, buffers).run();
}

std::string to_text(const PlainNest& nest) {
  SymbolValues symbols;
  return millrace::to_text(nest.to_kernel(0, symbols));
}

}  // namespace millrace::test
