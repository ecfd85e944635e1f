#pragma once

/// Accessors for pods and their owners, and edits, that the simulator's controllers share.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "api/meta/selector.hpp"
#include "base/clock.hpp"

namespace simulator {

struct PodFacts {
  api::ObjectKey key;
  std::string uid;
  std::string node;  ///< empty if not scheduled
  std::string phase;
  std::string controller_uid;  ///< UID of the managing owner, empty if none
  std::string controller_kind;
  bool ready = false;
  std::optional<base::TimePoint> ready_since;  ///< set only while ready
  bool terminating = false;
  std::int64_t deletion_cost = 0;
  std::string revision;     ///< label controller-revision-hash
  std::string target_node;  ///< for a DaemonSet's pod: the node it was created for, even if not bound
  base::TimePoint created{};

  bool is_terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  bool is_active() const { return !terminating && !is_terminal(); }
  bool is_available(base::seconds min_ready, base::TimePoint now) const {
    return ready && !terminating && ready_since && *ready_since + min_ready <= now;
  }
};
PodFacts facts_of(const api::Json& pod);

api::ObjectKey key_of(const api::Json& object);
std::string uid_of(const api::Json& object);
bool is_terminating(const api::Json& object);
/// Returns true if `written`, the result of Store::edit(), is newer than `before`.
bool is_newer(const std::shared_ptr<const api::Json>& written, const api::Json& before);
/// Returns the UID of the ownerReference with controller: true, empty if there is none.
std::string controller_uid_of(const api::Json& object);

/// Converts an object of strings to a StringMap; other values are skipped.
api::StringMap string_map(const api::Json* labels);
/// Parses a metav1.LabelSelector. Returns nullopt for nullptr or a wrong type.
std::optional<api::LabelSelector> label_selector(const api::Json* selector);
/// Parses matchExpressions or matchFields; malformed ones are skipped.
std::vector<api::SelectorRequirement> requirements_of(const api::Json* expressions);
/// Returns true if spec.nodeSelector and the required node affinity of `pod_spec` admit the node.
bool selects_node(const api::Json& pod_spec, const api::Json& node);
/// Return spec.taints of a node, and the tolerations of a pod spec.
std::vector<api::Taint> taints_of(const api::Json& node);
std::vector<api::Toleration> tolerations_of(const api::Json& pod_spec);
/// Resolves a number or a percentage such as "25%" of `total`, rounded up or down. Returns nullopt if absent or
/// neither.
std::optional<std::int64_t> scaled_value(const api::Json* int_or_percent, std::int64_t total, bool round_up);

/// Returns the strings of the array at the path; other items are skipped.
std::vector<std::string> strings_at(const api::Json& object, std::initializer_list<std::string_view> path);
/// Returns the RFC 3339 time at the path, nullopt if absent or invalid.
std::optional<base::TimePoint> time_at(const api::Json& object, std::initializer_list<std::string_view> path);
/// Returns the number of seconds at the path, between 0 and ten years.
std::optional<base::seconds> seconds_at(const api::Json& object, std::initializer_list<std::string_view> path);
/// Returns spec.replicas or another count at the path, between 0 and 100,000, which exceeds any cluster simulated here.
std::int64_t count_at(const api::Json& object, std::initializer_list<std::string_view> path, std::int64_t otherwise);

/// Returns the member `name` of `parent`, replaced by an empty object if it is not an object.
api::Json& object_in(api::Json& parent, std::string_view name);
/// Returns the member `name` of `parent`, replaced by an empty array if it is not an array.
api::Json& array_in(api::Json& parent, std::string_view name);
/// Inserts or replaces a condition in status.conditions. lastTransitionTime changes only with the status. Returns true
/// if the condition changed.
bool put_condition(api::Json& status, api::Json next);
bool put_condition(api::Json& status, std::string_view type, std::string_view value, std::string_view reason,
                   std::string_view message, base::TimePoint now);
/// Returns the condition of that type in status.conditions, nullptr if there is none.
const api::Json* condition_of(const api::Json& object, std::string_view type);
/// Returns a member of that condition, empty if there is none.
std::string condition_value(const api::Json& object, std::string_view type, std::string_view member = "status");
/// Returns true if both objects have equal values at the path, or none.
bool same_at(const api::Json& a, const api::Json& b, std::initializer_list<std::string_view> path);

/// Returns a pod of `owner` as its controller would create it: labels, annotations and spec of `pod_template`,
/// ownerReference, generateName "<owner>-". Without a template the spec is empty.
api::Json pod_from_template(const api::Json& owner, const api::Json* pod_template);
/// Returns the ownerReference that makes `owner` the managing owner.
api::Json controller_reference(const api::Json& owner);
/// Returns a pod-template-hash: FNV-1a of the template's text in the alphabet of generated names.
std::string template_hash(const api::Json& pod_template);

}  // namespace simulator
