#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/meta/object_meta.hpp"

namespace api {

/// Operators of label selectors and node selectors. kGt and kLt exist in node selectors only.
enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

std::string_view to_string(SelectorOperator op);

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;

  /// Returns true if In and NotIn have values, Exists and DoesNotExist have none, and Gt and Lt have one integer. The
  /// API server ensures this, but a dump may contain anything.
  bool is_well_formed() const;
  /// Returns true if `labels` satisfy the requirement. NotIn and DoesNotExist match if the key is absent. Gt and Lt
  /// compare base-10 integers and do not match other values. A malformed requirement matches nothing.
  bool matches(const StringMap& labels) const;
  friend bool operator==(const SelectorRequirement&, const SelectorRequirement&) = default;
};

/// metav1.LabelSelector with matchLabels converted to requirements (In, one value). An empty selector matches
/// everything. Represent an absent selector by std::nullopt.
struct LabelSelector {
  std::vector<SelectorRequirement> requirements;

  /// Returns true if all requirements are well-formed and none is Gt or Lt.
  bool is_well_formed() const;
  bool matches(const StringMap& labels) const;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

}  // namespace api
