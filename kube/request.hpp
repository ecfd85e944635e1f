#pragma once

/// Pure builders of unsent requests (sans-IO). Golden-tested on the wire names.

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
  std::string ns;  ///< empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  int limit = 500;
  std::string continue_token;
  std::string resource_version;  ///< empty: consistent read; "0": any cached version
  /// Of a watch: it begins with what is there, as a list (KEP-3157), and a bookmark says when that is complete. Without
  /// resourceVersion it is as consistent as a list from the store.
  bool send_initial_events = false;
  /// Asks for protobuf: who reads the items must take JSON and envelopes (api/core/codec.hpp).
  bool protobuf = false;
};

enum class PatchType { kMerge, kJson, kApply };

Request get_request(const ResourceType& type, const api::ObjectKey& key);
Request list_request(const ResourceType& type, const ListOptions& options);
/// `timeout` is sent as timeoutSeconds; bookmarks are always asked for.
Request watch_request(const ResourceType& type, const ListOptions& options, base::seconds timeout);
Request create_request(const ResourceType& type, const std::string& ns, const api::Json& body);
/// PUT of the whole object (or of its subresource); only for kinds we own.
Request update_request(const ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                       std::string_view subresource = {});
/// kApply sends fieldManager=evacuator and, with `force`, force=true.
Request patch_request(const ResourceType& type, const api::ObjectKey& key, PatchType kind, const api::Json& patch,
                      std::string_view subresource = {}, bool force = false);
/// Deletes our own kinds only, with a UID precondition when given.
Request delete_request(const ResourceType& type, const api::ObjectKey& key, std::string_view uid);

struct EvictionOptions {
  std::string uid;                 ///< precondition, always set
  std::string resource_version{};  ///< precondition of strict handoff; usually empty
  std::optional<std::int64_t> grace_period_seconds{};
  api::StringMap annotations{};  ///< requested-by, reason, token: reach webhooks and the audit log
  bool dry_run = false;          ///< sent in the query, never only in the body
};
/// POST …/pods/<name>/eviction. `policy_version` is "v1" or "v1beta1" (see Discovery::eviction_version).
Request eviction_request(const api::ObjectKey& pod, const EvictionOptions& options, std::string_view policy_version);

}  // namespace kube
