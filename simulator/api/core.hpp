#pragma once

/// Internals of ApiServer, shared by its source files (simulator/api/*.cpp). Do not include elsewhere.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "simulator/api/failure.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/api/server.hpp"
#include "simulator/registry/output.hpp"
#include "simulator/registry/selection.hpp"

namespace simulator {

struct ApiCore {
  static constexpr std::size_t kJournalLimit = 100'000;

  ApiCore(Store& its_store, ApiServerOptions its_options)
      : store(its_store),
        options(std::move(its_options)),
        registry(options.policy),
        faults(options.seed),
        log(kJournalLimit),
        configured(store, options.call_webhook ? options.call_webhook : https_caller()) {}

  Store& store;
  const ApiServerOptions options;
  Registry registry;
  Faults faults;
  ServerFeatures abilities;
  RequestLog log;
  ConfiguredWebhooks configured;
  RecentTexts texts;
  std::vector<Webhook> webhooks;
  std::vector<std::pair<std::pair<std::string, std::string>, Validator>> validators;  ///< by group and plural
  std::vector<Endpoint> endpoints;
  std::atomic<bool> something_terminates{
      true};  ///< a namespace or CRD is terminating; initially true, since the store may have older objects
  std::mutex housekeeping;
};

struct Call {
  const kube::Request& request;
  const User& user;
  RequestInfo info;
  ServedPtr resource;  ///< nullptr for paths that are not resources
  Output output;
  bool dry_run = false;
  std::optional<std::uint64_t> stale_by;  ///< lag of a list, set by an injected fault
  std::string uid;                        ///< UID of the object written, for the journal
  std::string created_name;               ///< for the journal, if the request has no name

  api::ObjectKey key() const { return {info.ns, info.name}; }
};

// --- read.cpp
kube::Response get_object(ApiCore& core, const Call& call);
kube::Response list_objects(ApiCore& core, const Call& call);
/// Returns the revision that a list must show, nullopt for the current one. Returns 504 for a future revision.
Outcome<std::optional<std::uint64_t>> wanted_revision(ApiCore& core, const Call& call);
/// Returns labelSelector and fieldSelector of the query.
Outcome<Selection> selection_of(const Call& call);
/// Ignores paging.
Outcome<std::vector<Object>> select_objects(ApiCore& core, const Call& call);

// --- write.cpp
kube::Response create_object(ApiCore& core, Call& call);
kube::Response update_object(ApiCore& core, Call& call);
kube::Response patch_object(ApiCore& core, Call& call);
/// Parses the request body as an object. Returns 400, 413 or 415 on failure.
Outcome<api::Json> read_body(const Call& call);
/// Writes an object: read, transform, check, admit, compare-and-swap. Retries conflicts not caused by the client's
/// precondition. `transform` receives and returns the served version.
using Transform = std::function<Outcome<api::Json>(api::Json served)>;
Outcome<Object> write_object(ApiCore& core, Call& call, Part part, const Transform& transform);
std::string field_manager_of(const Call& call);
/// Returns 404 if the namespace does not exist, 403 while it is terminating.
CheckResult check_namespace(ApiCore& core, const Call& call, const std::string& name);

// --- check.cpp
/// Applies defaults, prunes and validates `after` (storage version), then runs the validators. `before` is nullptr on
/// create.
CheckResult check_object(ApiCore& core, const Call& call, const api::Json* before, api::Json& after);
CheckResult admit(ApiCore& core, const Call& call, std::string_view verb, const api::Json* object,
                  const api::Json* old_object);

// --- delete.cpp
/// metav1.DeleteOptions from body and query.
struct DeleteOptions {
  Preconditions preconditions;
  std::optional<std::int64_t> grace_seconds;
  std::string propagation;  ///< "", Background, Foreground, Orphan
  bool dry_run = false;
};
Outcome<DeleteOptions> read_delete_options(const api::Json& body);
kube::Response delete_object(ApiCore& core, Call& call);
kube::Response delete_collection(ApiCore& core, Call& call);
void finish_terminating(ApiCore& core);

// --- eviction.cpp, subresources.cpp
kube::Response evict_pod(ApiCore& core, Call& call);
kube::Response serve_scale(ApiCore& core, Call& call);
kube::Response bind_pod(ApiCore& core, Call& call);
/// Answers a SelfSubjectAccessReview; every access is allowed.
kube::Response review_access(const Call& call);

// --- crd.cpp
/// Completes a CustomResourceDefinition on write: names, conditions, storedVersions.
CheckResult complete_definition(ApiCore& core, api::Json& definition);
bool is_definition(const ServedResource& resource);

// --- discovery.cpp, openapi.cpp, simulator.cpp. Return nullopt for other paths.
std::optional<kube::Response> serve_discovery(ApiCore& core, const Call& call);
std::optional<kube::Response> serve_openapi(ApiCore& core, const Call& call);
std::optional<kube::Response> serve_simulator(ApiCore& core, const Call& call);

// --- watch.cpp
ApiServer::WatchAnswer open_watch(ApiCore& core, Call call);

}  // namespace simulator
