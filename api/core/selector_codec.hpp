#pragma once

/// LabelSelector and IntOrPercent on the wire, read strictly. Also for strategies' arguments.

#include <optional>
#include <string_view>

#include "api/core/kinds.hpp"
#include "api/json/strict_object.hpp"

namespace api {

/// Reads {matchLabels, matchExpressions}. Complains about keys, values and operators that Kubernetes would refuse.
/// `of_nodes`: of a selector of nodes, which may compare numbers, too (Gt, Lt).
void read_label_selector(StrictObject& object, std::string_view name, std::optional<LabelSelector>& target,
                         bool of_nodes = false);
/// The reverse: reads back equal when the selector came from the wire.
Json encode_label_selector(const LabelSelector& selector);

/// Reads 5 or "10%". Bounds are the caller's business.
void read_int_or_percent(StrictObject& object, std::string_view name, std::optional<IntOrPercent>& target);
Json encode_int_or_percent(const IntOrPercent& value);

}  // namespace api
