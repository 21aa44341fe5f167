// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hal/checks/access.h"
#include "millrace/hal/command_list.h"
#include "millrace/hal/device.h"

namespace millrace {

/// The checks that every driver makes before it runs a submission: counts, bindings, and whatever validate() could not
/// decide because it depends on symbols. A recording makes one object for all of its submissions. Checking a valid
/// submission allocates nothing.
class SubmissionCheck {
 public:
  /// Precondition: validate(list) is ok.
  SubmissionCheck(const CommandList& list, const Device& device);

  Status check(const Submission&) const;
  const CommandList& list() const { return list_; }

 private:
  struct ConstantSize {
    SizeIndex index;
    std::int64_t value;
  };
  struct SymbolicRange {
    CommandId command;
    RangeAccess access;
    SizeIndex binding_size;
  };
  struct SymbolicGroups {
    CommandId command;
    SizeIndex num_groups;
    std::int64_t max_groups;
  };

  void note_symbolic_parts(CommandId, const Command&);
  static Status wrong_size(const ConstantSize&, std::int64_t given);
  /// Whether a binding has memory of the right kind, the device's or the host's, and of the length in the list.
  bool has_memory(BindingIndex, const Submission&) const;
  Status wrong_memory(BindingIndex, const Submission&) const;
  Status check_range(const SymbolicRange&, const Submission&) const;
  Status check_groups(const SymbolicGroups&, const Submission&) const;

  CommandList list_;
  std::string device_name_;
  DeviceId device_;
  bool addresses_host_memory_;
  std::vector<ConstantSize> constants_;
  std::vector<SymbolicRange> ranges_;
  std::vector<SymbolicGroups> groups_;
};

}  // namespace millrace
