#pragma once

/// What the simulator's controllers read of pods and their owners, and the few edits they share.

#include <cstdint>
#include <initializer_list>
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

/// One pod in short.
struct PodFacts {
  api::ObjectKey key;
  std::string uid;
  std::string node;  ///< empty: not scheduled
  std::string phase;
  std::string controller_uid;  ///< of the managing owner, or ""
  std::string controller_kind;
  bool ready = false;
  std::optional<base::TimePoint> ready_since;  ///< set only while ready
  bool terminating = false;
  std::int64_t deletion_cost = 0;
  std::string revision;     ///< label controller-revision-hash
  std::string target_node;  ///< of a DaemonSet's pod: the node it was made for, bound or not
  base::TimePoint created{};

  bool is_terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  bool is_active() const { return !terminating && !is_terminal(); }
  bool is_available(base::seconds min_ready, base::TimePoint now) const {
    return ready && !terminating && ready_since && *ready_since + min_ready <= now;
  }
};
PodFacts facts_of(const api::Json& pod);

/// metadata.namespace and metadata.name.
api::ObjectKey key_of(const api::Json& object);
std::string uid_of(const api::Json& object);
bool is_terminating(const api::Json& object);
/// uid of the ownerReference with controller: true, or "".
std::string controller_uid_of(const api::Json& object);

/// An object of strings as a StringMap; anything else is skipped.
api::StringMap string_map(const api::Json* labels);
/// metav1.LabelSelector; nullptr or a wrong type: nullopt.
std::optional<api::LabelSelector> label_selector(const api::Json* selector);
/// matchExpressions or matchFields; malformed ones are skipped.
std::vector<api::SelectorRequirement> requirements_of(const api::Json* expressions);
/// True if spec.nodeSelector and the required node affinity of `pod_spec` admit that node.
bool selects_node(const api::Json& pod_spec, const api::Json& node);
/// spec.taints, and tolerations of a pod spec.
std::vector<api::Taint> taints_of(const api::Json& node);
std::vector<api::Toleration> tolerations_of(const api::Json& pod_spec);
/// Number or "25%", rounded up or down; nullopt when absent or neither.
std::optional<std::int64_t> scaled_value(const api::Json* int_or_percent, std::int64_t total, bool round_up);

/// The RFC 3339 time there; absent or unreadable: nullopt.
std::optional<base::TimePoint> time_at(const api::Json& object, std::initializer_list<std::string_view> path);
/// The number of seconds there, within 0 and ten years.
std::optional<base::seconds> seconds_at(const api::Json& object, std::initializer_list<std::string_view> path);
/// spec.replicas or another count there, within 0 and 100,000, which is beyond any cluster that fits here.
std::int64_t count_at(const api::Json& object, std::initializer_list<std::string_view> path, std::int64_t otherwise);

/// The member `name` of `parent`, made an object first if it is none.
api::Json& object_in(api::Json& parent, std::string_view name);
/// The member `name` of `parent`, made an array first if it is none.
api::Json& array_in(api::Json& parent, std::string_view name);
/// Inserts or replaces `status.conditions[type]`; lastTransitionTime moves only when the status flips.
/// True if anything differs afterwards.
bool put_condition(api::Json& status, std::string_view type, std::string_view value, std::string_view reason,
                   std::string_view message, base::TimePoint now);
/// The condition of that type in status.conditions, or nullptr.
const api::Json* condition_of(const api::Json& object, std::string_view type);

/// A pod for `owner`, as its controller would post it: labels, annotations and spec of `pod_template`, ownerReference,
/// generateName "<owner>-". Without a template: a pod with an empty spec.
api::Json pod_from_template(const api::Json& owner, const api::Json* pod_template);
/// The ownerReference that makes `owner` the managing one.
api::Json controller_reference(const api::Json& owner);
/// FNV-1a of the template's text in the alphabet of generated names: pod-template-hash.
std::string template_hash(const api::Json& pod_template);

}  // namespace simulator
