#pragma once

/// Readers of parts that several kinds share, and the frame around all of them. Internal to api/core/codec*.cpp. Each
/// reads its value once and in document order; what has a wrong type stays as it was (codec_reader.hpp).

#include <string>
#include <string_view>
#include <vector>

#include "api/core/codec.hpp"
#include "api/core/codec_reader.hpp"

namespace api::wire {

/// Maps repeat from pod to pod of one workload: equal ones share their storage. `annotations`: only those that somebody
/// looks at are kept.
error_code read_map(Value& value, bool annotations, StringMap& target);
error_code read_meta(Value& value, ObjectMeta& meta);
error_code read_conditions(Value& value, std::vector<Condition>& target);

/// What could not be read below the path, which is known only further up.
using Unread = std::vector<UnreadField>;
void add_unread(UnreadFields& target, Unread unread, const std::string& prefix);

/// `field`: the list's name, in front of the names of those that cannot be read.
error_code read_resources(Value& value, ResourceList& target, Unread& unread, std::string_view field);
error_code read_requests_and_limits(Value& value, ResourceList& requests, ResourceList& limits, Unread& unread);

/// What the API server would not take never widens a selector: such a requirement holds for nobody.
error_code read_selector(Value& value, std::optional<LabelSelector>& target);
error_code read_node_term(Value& value, NodeSelectorTerm& term);
/// {nodeSelectorTerms: […]}
error_code read_node_selector(Value& value, std::vector<NodeSelectorTerm>& target);
/// Those of one workload are equal and share their storage. nullptr: it says nothing.
std::shared_ptr<const Affinity> share(Affinity affinity);
error_code read_affinity(Value& value, std::shared_ptr<const Affinity>& target);
error_code read_toleration(Value& value, std::vector<Toleration>& target);
error_code read_taint(Value& value, std::vector<Taint>& target);
error_code read_spread(Value& value, std::vector<TopologySpreadConstraint>& target);

/// Of a claim, or of the template of one. `pvc` is a new one.
error_code read_pvc_spec(Value& value, PersistentVolumeClaim& pvc);

/// Decodes an object of which T has `meta`; `read(key, value, T&)` takes the other members.
template <typename T, typename F>
base::Result<T> decode_object(std::string_view json, const char* what, F&& read) {
  T decoded;
  Lease lease;
  const auto status = read_document(*lease, json, what, [&](Object& root) {
    return for_members(root, [&](std::string_view key, Value& value) {
      return key == "metadata" ? read_meta(value, decoded.meta) : read(key, value, decoded);
    });
  });
  if (!status) return status.error();
  return decoded;
}

struct OnlyMeta {
  ObjectMeta meta;
};

}  // namespace api::wire
