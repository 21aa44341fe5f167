// SPDX-License-Identifier: Apache-2.0
// Plans sort and TopK kernels, and emits their images.
#include "jit/xbyak/sort_kernel.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "hal/host/routines/sort/sort_rows.h"
#include "hal/host/routines/topk/topk_rows.h"
#include "jit/algorithms/rows.h"
#include "jit/lanes/body_lanes.h"
#include "jit/lanes/byte_microkernels.h"
#include "jit/lanes/select_microkernels.h"
#include "jit/lanes/sort_memory.h"
#include "jit/lanes/transpose_microkernel.h"
#include "jit/xbyak/lane_image.h"
#include "jit/xbyak/row_kernels.h"
#include "jit/xbyak/row_load.h"

namespace millrace {
namespace {

/// The functions that rows of this length need. If a whole row fits in registers, they are sort_in_registers for the
/// minimum number of vectors that hold a row. Otherwise they include sort_in_registers for every number of vectors.
/// Truncated keys also need the functions for shorter runs.
SorterFunctions sorter_functions_of(const SortDescriptor& sort, IsaLevel isa) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t lanes = num_lanes_of(isa, lane_keys_of(sort).lane_bits());
  for (std::size_t i = 0; n.is_constant() && !selects_first(sort) && i < RowSorterCode::kNumNetworks; ++i) {
    if (n.constant() <= lanes << i) return {lane_keys_of(sort).are_truncated() ? 0 : i, i + 1, false, false};
  }
  RowSorterCode code{};
  code.num_lanes = lanes;
  const bool partitions = !n.is_constant() || selects_first(sort) || n.constant() > code.max_short();
  return {.partitions = partitions};
}

/// The length of rows for which one function sorts all values, or all indices, in registers; 0 if there is no such
/// length.
std::int64_t elements_in_registers(const SortDescriptor& sort, IsaLevel isa) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const bool is_one_result = sort.values.has_value() != sort.indices.has_value() && !sort.input_indices;
  const bool fits = n.is_constant() && sort.k == n && !sorter_functions_of(sort, isa).merges;
  return fits && is_one_result && !lane_keys_of(sort).are_truncated() ? n.constant() : 0;
}

/// The functions that a selection needs: those for long rows, or those for short rows and this k.
SelectionFunctions selection_of(const SortDescriptor& sort, IsaLevel isa) {
  using Short = ShortSelector<std::int64_t>;  // the key type is arbitrary: element and group counts do not depend on it
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  const std::int64_t lanes = num_lanes_of(isa, CoarseKeys{sort.input.type.dtype}.lane_bits());
  SelectionFunctions functions;
  // If k may exceed kMaxByGroups, a limit is estimated from a sample, and whole rows are filtered by it piece by piece.
  functions.filters_whole_rows = sort.k.upper_bound() > RowSelector<std::int64_t>::kMaxByGroups;
  if (!n.is_constant() || !sort.k.is_constant() || sort.k.constant() == 0) return functions;
  functions.has_long_rows = !sort.parts.is(1) || !Short::takes(n.constant(), sort.k.constant(), lanes);
  const std::size_t network = Short::network_of(sort.k.constant(), lanes);
  functions.short_sorter =
      functions.has_long_rows ? SorterFunctions{0, 0} : SorterFunctions{network, network + 1, false, false};
  return functions;
}

TopkRowsMemory memory_of_selection(const SortDescriptor& sort) {
  return TopkRowsMemory(TopkRowsMemory::max_found(selects_first(sort) ? sort.k.upper_bound() : 0));
}

/// Refuses a load if it is faster to store the elements before the sort reads them.
Status check_gain_of_load(const SortDescriptor& sort, const TargetSpec& spec) {
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (selects_first(sort)) return {};
  if (!keys_fit_workgroup(sort, spec)) {
    return unimplemented(
        fmt::format("keys of {} elements exceed the cache, expected rows whose keys fit it", n.to_text()));
  }
  if (!lane_keys_of(sort).with_index &&
      CountingSort::takes(static_cast<std::int64_t>(size_bytes(sort.input.type.dtype)), n.upper_bound())) {
    return unimplemented(fmt::format("{} elements of {} are counted in memory, expected rows whose keys are sorted",
                                     n.to_text(), to_text(sort.input.type.dtype)));
  }
  return {};
}

/// Sets `runs` to the bit patterns of 8- or 16-bit elements in the order of the sort. Each zero is a run, and so are
/// the NaNs of each sign, because a sort treats them as equal although their bits differ. Returns the number of runs; 0
/// for wider dtypes.
std::int64_t set_pattern_runs(const LaneKeys& keys, PatternRun* runs) {
  if (size_bytes(keys.dtype) > 2) return 0;
  const std::int64_t max = magnitude_of(keys.dtype), sign = max + 1, all = max | sign;
  std::vector<PatternRun> ascending;
  if (is_float(keys.dtype)) {
    const std::int64_t infinity = infinity_of(keys.dtype);
    ascending = {{sign | infinity, sign + 1}, {sign, sign}, {0, 0}, {1, infinity}, {infinity + 1, max},
                 {(sign | infinity) + 1, all}};
  } else if (is_signed(keys.dtype)) {
    ascending = {{sign, all}, {0, max}};
  } else if (keys.dtype == DType::kBool) {
    ascending = {{0, 1}};
  } else {
    ascending = {{0, all}};
  }
  if (keys.largest) {
    std::ranges::reverse(ascending);
    for (PatternRun& run : ascending) std::swap(run.first, run.last);
  }
  std::ranges::copy(ascending, runs);
  return static_cast<std::int64_t>(ascending.size());
}

/// Whether rows are bytes and can be long enough for a ByteCounter.
bool counts_bytes(const SortDescriptor& sort, const TargetSpec& spec) {
  const LaneKeys keys = lane_keys_of(sort);
  return has_byte_microkernels(spec) && !keys.with_index && size_bytes(keys.dtype) == 1 &&
         sort.input.type.shape[sort.axis].upper_bound() >= ByteCounter::kMinBytes;
}

/// Appends the functions that move rows into a ColumnBlock, and their parameters.
void append_columns(SortRowsParameters& p, const SortDescriptor& sort, const TargetSpec& spec,
                    const MicrokernelSink& sink) {
  p.columns_bytes = column_bytes(sort, spec);
  if (p.columns_bytes == 0) return;
  p.moves_results = !selects_first(sort);
  p.columns_offset = p.moves_results != 0 ? SortRowsParameters::kFixedBytes : memory_of_selection(sort).end;
  p.element_tiles = append_tiles(sink, sort.input.type.dtype);
  if (p.moves_results != 0 && sort.indices) p.index_tiles = append_tiles(sink, DType::kI64);
}

SortRowsParameters append_all(const SortDescriptor& sort, const std::optional<RowLoad>& load, const TargetSpec& spec,
                              const MicrokernelSink& sink) {
  const LaneKeys keys = lane_keys_of(sort);
  const SorterFunctions sorter = sorter_functions_of(sort, spec.isa);
  SortRowsParameters p = sort_parameters(sort);
  p.writes_sorted = sorter.merges && writes_sorted(sort);
  append_sort(p, sink, keys,
              {.keys = true,
               .splits = sorter.partitions && !selects_first(sort),
               .sorter = true,
               .results = true,
               .runs = true,
               .sorter_functions = sorter});
  p.uses_scratch = !keys_fit_workgroup(sort, spec);
  // Without scratch there is no limit, so that rows of all lengths that fit share this code.
  p.max_workgroup_key_bytes =
      p.uses_scratch != 0 ? workgroup_key_bytes(sort, spec) : std::numeric_limits<std::int64_t>::max();
  const std::int64_t in_registers = elements_in_registers(sort, spec.isa);
  p.sorts_in_registers = in_registers > 0;
  if (p.sorts_in_registers != 0) append_row_networks(p, sink, keys, in_registers);
  p.counts_bytes = counts_bytes(sort, spec);
  if (p.counts_bytes != 0) p.byte_counter = append_byte_counter(sink);
  append_columns(p, sort, spec, sink);
  if (load) p.load = load->append(sink, size_arguments_of(sort).size());
  return p;
}

TopkRowsParameters append_topk(const SortDescriptor& sort, const std::optional<RowLoad>& load, const TargetSpec& spec,
                               const MicrokernelSink& sink) {
  const LaneKeys keys = lane_keys_of(sort);
  SelectionFunctions functions = selection_of(sort, spec.isa);
  const bool computes = load && lane_bits_of(sort.load->epilogue).value() == keys.coarse().lane_bits();
  if (computes && is_short(load->elements)) functions.computed = &load->elements;
  TopkRowsParameters p{};
  p.sort = append_all(sort, load, spec, sink);
  p.max_found = memory_of_selection(sort).capacity;
  append_selection(p, sink, keys, functions);
  return p;
}

Result<ExecutableImage> emit_sort(const SortDescriptor& sort, const std::optional<RowLoad>& load,
                                  const TargetSpec& spec) {
  return emit_lane_image(spec.isa, [&](const MicrokernelSink& sink) {
    return selects_first(sort) ? call_of(Routine::topk_rows, append_topk(sort, load, spec, sink))
                               : call_of(Routine::sort_rows, append_all(sort, load, spec, sink));
  });
}

/// The tensors in the order of SortTensor; null if absent.
std::array<const KernelTensor*, kNumSortTensors> tensors_of(const SortDescriptor& sort) {
  return {&sort.input, sort.values ? &*sort.values : nullptr, sort.indices ? &*sort.indices : nullptr};
}

std::vector<RowDim> dims_of(const SortDescriptor& sort) {
  std::vector<const std::vector<SizeExpr>*> strides;
  for (const KernelTensor* tensor : tensors_of(sort)) {
    strides.push_back(tensor != nullptr ? &tensor->layout.strides : nullptr);
  }
  return row_dims(sort.input.type.shape.dims(), sort.axis, strides);
}

}  // namespace

bool writes_sorted(const SortDescriptor& sort) {
  if (sort.values.has_value() == sort.indices.has_value() || sort.input_indices || selects_first(sort)) return false;
  const KernelTensor& result = sort.values ? *sort.values : *sort.indices;
  return result.layout.strides[sort.axis].is(1) && !lane_keys_of(sort).are_truncated();
}

std::vector<SizeExpr> size_arguments_of(const SortDescriptor& sort) {
  const auto tensors = tensors_of(sort);
  std::vector<SizeExpr> sizes = {sort.input.type.shape[sort.axis], sort.k, sort.parts};
  for (const KernelTensor* tensor : tensors) sizes.push_back(tensor != nullptr ? tensor->layout.offset : SizeExpr(0));
  for (const KernelTensor* tensor : tensors) {
    sizes.push_back(tensor != nullptr ? tensor->layout.strides[sort.axis] : SizeExpr(0));
  }
  if (sort.load) sizes[SortRowsSizes::kAxisStrides] = 1;  // computed elements are contiguous
  append_dims(sizes, dims_of(sort));
  return sizes;
}

SortRowsParameters sort_parameters(const SortDescriptor& sort) {
  const LaneKeys keys = lane_keys_of(sort);
  SortRowsParameters p{};
  p.element_bytes = static_cast<std::int64_t>(size_bytes(keys.dtype));
  p.key_bytes = keys.lane_bits() / 8;
  p.num_other_dims = std::ssize(dims_of(sort));
  p.has_values = sort.values.has_value();
  p.has_indices = sort.indices.has_value();
  p.has_input_indices = sort.input_indices.has_value();
  p.keys_have_index = keys.with_index;
  p.keys_are_truncated = keys.are_truncated();
  p.max_keys = max_keys(sort);
  p.is_bool = keys.dtype == DType::kBool;
  p.inverted_bits = inverted_sign_of(keys.dtype);
  p.is_descending = keys.largest;
  if (is_float(keys.dtype)) {
    p.magnitude_bits = magnitude_of(keys.dtype);
    p.infinity_bits = infinity_of(keys.dtype);
  }
  if (!keys.with_index) p.num_pattern_runs = set_pattern_runs(keys, p.pattern_runs);
  return p;
}

Status check_lanes_sort(const SortDescriptor& sort, const TargetSpec& spec) {
  if (spec.isa == IsaLevel::kBaseline) {
    return unimplemented(fmt::format("sorting by lanes needs 256-bit vectors, {} has none", spec.to_text()));
  }
  const SizeExpr& n = sort.input.type.shape[sort.axis];
  if (!lane_keys_of(sort).with_index || n.upper_bound() <= kMaxIndexedByLanes) return {};
  return unimplemented(fmt::format("rows of {} elements, expected at most {}", n.to_text(), kMaxIndexedByLanes));
}

Result<PlannedKernel> plan_row_operation(const SortDescriptor& sort, const TargetSpec& spec) {
  MILLRACE_TRY(check_lanes_sort(sort, spec));
  const LaneKeys keys = lane_keys_of(sort);
  if (!sort.parts.is(1) && !selects_first(sort)) {
    const SizeExpr& n = sort.input.type.shape[sort.axis];
    return unimplemented(fmt::format("the first {} of each part of {} elements, expected k much smaller than a part",
                                     sort.k.to_text(), n.to_text()));
  }
  const bool selects = selects_first(sort);
  const bool fits = keys_fit_workgroup(sort, spec);
  std::vector<bool> buffer_is_written(sort.input_indices ? 2 : 1, false);
  for (const bool has_buffer : {sort.values.has_value(), sort.indices.has_value(), !fits}) {
    if (has_buffer) buffer_is_written.push_back(true);
  }
  PlannedKernel planned = plan_routine(sort.name, num_rows(sort.input.type.shape, sort.axis) * sort.parts,
                                       size_arguments_of(sort), std::move(buffer_is_written));
  if (counts_bytes(sort, spec)) planned.features = kByteMicrokernelFeatures;
  add_slot(planned, "sample", RowSorterMemory::kSampleBytes);
  add_slot(planned, "counts", RowSorterMemory::kCountBytes);
  const TopkRowsMemory selection = memory_of_selection(sort);
  if (selects) add_slot(planned, "selection", selection.end - SortRowsParameters::kFixedBytes);
  add_slot(planned, "columns", column_bytes(sort, spec));
  add_slot(planned, "keys", workgroup_key_bytes(sort, spec));
  const SorterFunctions sorter = sorter_functions_of(sort, spec.isa);
  const SelectionFunctions chosen = selection_of(sort, spec.isa);
  planned.key_text = fmt::format(
      "{} {} lanes of {} largest {} values {} indices {} of {} dims {} networks {} to {} merges {} partitions {} in "
      "registers {} "
      "scratch {} beyond {} columns {} counts bytes {} all {} written when sorted {}{}\n",
      row_of(selects ? Routine::topk_rows : Routine::sort_rows).name, to_text(keys.dtype), keys.lane_bits(),
      keys.largest, sort.values.has_value(), sort.indices.has_value(), sort.input_indices ? "elements" : "positions",
      dims_of(sort).size(), sorter.first, sorter.end, sorter.merges, sorter.partitions,
      elements_in_registers(sort, spec.isa), !fits, fits ? 0 : workgroup_key_bytes(sort, spec),
      column_bytes(sort, spec), counts_bytes(sort, spec), sort.k == sort.input.type.shape[sort.axis],
      writes_sorted(sort),
      selects
          ? fmt::format(" short {} to {} long {} found {} samples {}", chosen.short_sorter.first,
                        chosen.short_sorter.end, chosen.has_long_rows, selection.capacity, chosen.filters_whole_rows)
          : "");
  std::optional<RowLoad> load;
  if (sort.load) {
    MILLRACE_TRY(check_gain_of_load(sort, spec));
    MILLRACE_TRY_ASSIGN(load, plan_row_load(*sort.load, sort.axis, spec.isa));
    if (selects) {
      const auto element_bytes = static_cast<std::int64_t>(size_bytes(sort.input.type.dtype));
      const bool may_be_short = chosen.short_sorter.first < chosen.short_sorter.end;
      const std::int64_t max_elements = may_be_short ? sort.input.type.shape[sort.axis].upper_bound() : 0;
      add_slot(planned, "computed",
               selection.computed - selection.end + TopkRowsMemory::computed_bytes(max_elements, element_bytes));
    }
    add_row_load(planned, *load);
  }
  planned.mapped = OpaquePlan{[sort, load](const TargetSpec& target) { return emit_sort(sort, load, target); }};
  return planned;
}

}  // namespace millrace
