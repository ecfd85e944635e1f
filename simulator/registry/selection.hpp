#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/selector.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

/// labelSelector and fieldSelector of a list, watch or deletecollection, applied to stored objects.
class Selection {
 public:
  /// Returns 400 with Kubernetes' message for invalid syntax and for fields that the kind does not support.
  static Outcome<Selection> parse(const ServedResource& resource, std::string_view labels, std::string_view fields);

  bool matches(const api::Json& stored) const;
  bool everything() const { return labels_.empty() && fields_.empty(); }

 private:
  struct Field {
    std::vector<std::string> path;  ///< path in the stored object
    std::string value;
    bool equal = true;
  };
  CheckResult add_field(const ServedResource& resource, std::string_view term);

  std::vector<api::SelectorRequirement> labels_;
  std::vector<Field> fields_;
};

/// Parses `a=b,c!=d,e in (x,y),f notin (z),g,!h`. Returns kInvalid with Kubernetes' message.
base::Result<std::vector<api::SelectorRequirement>> parse_label_selector(std::string_view text);

/// Returns true if the JSON metav1.LabelSelector `selector` (matchLabels, matchExpressions) matches the JSON object
/// `labels` (may be null).
bool label_selector_matches(const api::Json& selector, const api::Json* labels);

}  // namespace simulator
