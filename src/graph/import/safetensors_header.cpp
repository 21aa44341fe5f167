// SPDX-License-Identifier: Apache-2.0
// Parses the JSON header through the parser's events, without building a tree of values.
#include "graph/import/safetensors_header.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using Json = nlohmann::json;

/// Receives the parser's events: destroying a tree of JSON values allocates, and aborts the process when out of memory.
/// The header is at depth 1, a tensor's members at depth 2, and the items of a list member at depth 3.
class HeaderReader final : public Json::json_sax_t {
 public:
  SafetensorsHeader header;
  bool is_object = false;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }  // a negative number
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }

  bool number_unsigned(number_unsigned_t number) override {
    if (depth_ != 3 || list_ == nullptr) return other();
    (*list_)->push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    other();
    if (entry_ != nullptr && depth_ == 2 && member_ == "dtype") entry_->dtype = std::move(text);
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) begin_entry(name);
    if (depth_ == 2) member_ = std::move(name);
    return true;
  }

  bool start_object(std::size_t) override {
    other();
    if (depth_ == 0) is_object = true;
    if (depth_ == 1 && entry_ != nullptr) entry_->is_object = true;
    ++depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    other();
    if (depth_ == 2 && entry_ != nullptr) {
      list_ = member_ == "shape" ? &entry_->shape : member_ == "data_offsets" ? &entry_->data_offsets : nullptr;
      if (list_ != nullptr) list_->emplace();
    }
    ++depth_;
    return true;
  }

  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  void begin_entry(const std::string& name) {
    const auto [it, is_new] = header.entries.try_emplace(name);
    if (!is_new && !header.repeated) header.repeated = name;
    entry_ = &it->second;
    member_.clear();
  }

  /// Receives a value of a kind that is wrong or ignored here. Resets the member, because the last one of repeated
  /// members counts.
  bool other() {
    if (entry_ == nullptr) return true;
    if (depth_ == 2 && member_ == "dtype") entry_->dtype.reset();
    if (depth_ == 2 && member_ == "shape") entry_->shape.reset();
    if (depth_ == 2 && member_ == "data_offsets") entry_->data_offsets.reset();
    if (depth_ == 3 && list_ != nullptr) {
      list_->reset();
      list_ = nullptr;
    }
    return true;
  }

  bool end() {
    if (--depth_ == 2) list_ = nullptr;
    return true;
  }

  HeaderEntry* entry_ = nullptr;
  std::string member_;
  std::optional<std::vector<std::uint64_t>>* list_ = nullptr;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> text) {
  HeaderReader reader;
  const auto* begin = reinterpret_cast<const char*>(text.data());
  if (!Json::sax_parse(begin, begin + text.size(), &reader) || !reader.is_object) return std::nullopt;
  return std::move(reader.header);
}

}  // namespace millrace
