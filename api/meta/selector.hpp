#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/meta/object_meta.hpp"

namespace api {

/// The operators of label selectors and node selectors. kGt and kLt exist for nodes only.
enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

std::string_view to_string(SelectorOperator op);

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;

  /// In and NotIn have values, Exists and DoesNotExist none, Gt and Lt one integer. The API server sees to it, but a
  /// dump may hold anything.
  bool is_well_formed() const;
  /// True if `labels` satisfy it. NotIn and DoesNotExist hold when the key is absent; Gt and Lt compare
  /// base-10 integers and are false for anything else. One that is not well formed holds for nobody.
  bool matches(const StringMap& labels) const;
  friend bool operator==(const SelectorRequirement&, const SelectorRequirement&) = default;
};

/// metav1.LabelSelector with matchLabels folded into requirements (In, one value). An empty selector
/// matches everything; an absent one is the caller's std::optional.
struct LabelSelector {
  std::vector<SelectorRequirement> requirements;

  /// All requirements are, and none is Gt or Lt.
  bool is_well_formed() const;
  bool matches(const StringMap& labels) const;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

}  // namespace api
