#pragma once

/// Pure builders of unsent requests (sans-IO). The wire format has golden tests.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"
#include "kube/transport.hpp"

namespace kube {

struct ListOptions {
  std::string ns{};  ///< empty for all namespaces
  std::string label_selector{};
  std::string field_selector{};
  int limit = 500;
  std::string continue_token{};
  std::string resource_version{};  ///< empty for a consistent read, "0" for any cached version
  /// For a watch: begins with the existing objects (KEP-3157). A bookmark marks their end. Without resourceVersion, it
  /// is as consistent as a list from the store.
  bool send_initial_events = false;
  /// Requests protobuf. Readers of the items must accept JSON and envelopes (api/core/codec.hpp).
  bool protobuf = false;
};

enum class PatchType { kMerge, kJson, kApply };

Request get_request(const ResourceType& type, const api::ObjectKey& key);
Request list_request(const ResourceType& type, const ListOptions& options);
/// `timeout` is sent as timeoutSeconds. Bookmarks are always requested.
Request watch_request(const ResourceType& type, const ListOptions& options, base::seconds timeout);
Request create_request(const ResourceType& type, const std::string& ns, const api::Json& body);
/// PUT of the whole object (or of its subresource). Only for Evacuator's own kinds.
Request update_request(const ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                       std::string_view subresource = {});
/// kApply sends fieldManager=evacuator and, with `force`, force=true.
Request patch_request(const ResourceType& type, const api::ObjectKey& key, PatchType kind, const api::Json& patch,
                      std::string_view subresource = {}, bool force = false);
/// Request of another path with a JSON body.
Request json_request(std::string method, std::string path, const api::Json& body, Flow flow = Flow::kWrite);
/// Deletes an object of Evacuator's own kinds, with a UID precondition unless `uid` is empty.
Request delete_request(const ResourceType& type, const api::ObjectKey& key, std::string_view uid);

struct EvictionOptions {
  std::string uid;                 ///< precondition, always set
  std::string resource_version{};  ///< precondition of strict handoff, usually empty
  std::optional<std::int64_t> grace_period_seconds{};
  api::StringMap annotations{};  ///< requested-by, reason, token; visible to webhooks and the audit log
  bool dry_run = false;          ///< sent in the query, not in the body only
};
/// Returns POST …/pods/<name>/eviction. `policy_version` is "v1" or "v1beta1" (see Discovery::eviction_version).
Request eviction_request(const api::ObjectKey& pod, const EvictionOptions& options, std::string_view policy_version);

}  // namespace kube
