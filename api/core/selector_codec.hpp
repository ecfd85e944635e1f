#pragma once

/// Strict codec of LabelSelector and IntOrPercent. Also used for arguments of strategies.

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/core/kinds.hpp"
#include "api/json/strict_object.hpp"

namespace api {

/// Reads {matchLabels, matchExpressions}. Reports keys, values and operators that Kubernetes would refuse. `of_nodes`
/// also allows the operators Gt and Lt, which only node selectors have.
void read_label_selector(StrictObject& object, std::string_view name, std::optional<LabelSelector>& target,
                         bool of_nodes = false);
inline void read_member(StrictObject& object, std::string_view name, std::optional<LabelSelector>& target) {
  read_label_selector(object, name, target);
}
/// Encodes a selector. Decoding returns an equal selector if this one was decoded.
Json encode_label_selector(const LabelSelector& selector);
inline Json encode_value(const LabelSelector& selector) { return encode_label_selector(selector); }

/// Reads 5 or "10%". Callers check bounds.
void read_int_or_percent(StrictObject& object, std::string_view name, std::optional<IntOrPercent>& target);
inline void read_member(StrictObject& object, std::string_view name, std::optional<IntOrPercent>& target) {
  read_int_or_percent(object, name, target);
}
Json encode_value(const IntOrPercent& value);

}  // namespace api
