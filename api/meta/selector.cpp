#include "api/meta/selector.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "api/wire_names.hpp"
#include "base/text.hpp"

namespace api {
namespace {

/// Parses like Go's ParseInt in base 10: an optional sign and digits only.
std::optional<std::int64_t> selector_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  return base::parse_number<std::int64_t>(text);
}

bool compares(const std::string* found, const std::vector<std::string>& values, bool greater) {
  if (found == nullptr) return false;
  const auto have = selector_integer(*found);
  const auto want = selector_integer(values.front());
  if (!have || !want) return false;
  return greater ? *have > *want : *have < *want;
}

}  // namespace

std::string_view to_string(SelectorOperator op) { return name_of(kNodeOperatorNames, op); }

bool SelectorRequirement::is_well_formed() const {
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn: return !values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist: return values.empty();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: return values.size() == 1 && selector_integer(values.front());
  }
  std::abort();
}

bool SelectorRequirement::matches(const StringMap& labels) const {
  if (!is_well_formed()) return false;
  const std::string* found = labels.find(key);
  switch (op) {
    case SelectorOperator::kIn: return found != nullptr && std::ranges::find(values, *found) != values.end();
    case SelectorOperator::kNotIn: return found == nullptr || std::ranges::find(values, *found) == values.end();
    case SelectorOperator::kExists: return found != nullptr;
    case SelectorOperator::kDoesNotExist: return found == nullptr;
    case SelectorOperator::kGt: return compares(found, values, true);
    case SelectorOperator::kLt: return compares(found, values, false);
  }
  std::abort();
}

bool LabelSelector::is_well_formed() const {
  return std::ranges::all_of(requirements, [](const SelectorRequirement& r) {
    return r.is_well_formed() && r.op != SelectorOperator::kGt && r.op != SelectorOperator::kLt;
  });
}

bool LabelSelector::matches(const StringMap& labels) const {
  return std::ranges::all_of(requirements, [&](const SelectorRequirement& r) { return r.matches(labels); });
}

}  // namespace api
