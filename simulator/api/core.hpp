#pragma once

/// The inside of ApiServer, shared by its files (simulator/api/*.cpp). Nobody else includes it.

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
#include "simulator/webhooks/https_caller.hpp"

namespace simulator {

struct ApiCore {
  ApiCore(Store& its_store, ApiServerOptions its_options)
      : store(its_store),
        options(std::move(its_options)),
        registry(options.policy),
        faults(options.seed),
        log(options.journal_limit),
        configured(store, options.call_webhook ? options.call_webhook : https_caller()) {}

  Store& store;
  const ApiServerOptions options;
  Registry registry;
  Faults faults;
  Abilities abilities;
  RequestLog log;
  ConfiguredWebhooks configured;
  RecentTexts texts;
  std::vector<Webhook> webhooks;
  std::vector<std::pair<std::pair<std::string, std::string>, Validator>> validators;  ///< by group and plural
  std::vector<Endpoint> endpoints;
  std::atomic<bool> something_terminates{
      true};  ///< a namespace or definition; true at first: the store may be older than us
  std::mutex housekeeping;
};

/// One request on its way.
struct Call {
  const kube::Request& request;
  const User& user;
  RequestInfo info;
  ServedPtr resource;  ///< nullptr outside resources
  Output output;
  bool dry_run = false;
  std::optional<std::uint64_t> stale_by;  ///< a fault's lag for a list
  std::string uid;                        ///< of the object written, for the journal
  std::string created_name;               ///< for the journal, when the request names none

  api::ObjectKey key() const { return {info.ns, info.name}; }
};

// --- read.cpp
kube::Response get_object(ApiCore& core, const Call& call);
kube::Response list_objects(ApiCore& core, const Call& call);
/// The revision that a list must show: nullopt: now. 504 for one that has not been yet.
Outcome<std::optional<std::uint64_t>> wanted_revision(ApiCore& core, const Call& call);
/// The objects of a list request, all of them.
Outcome<std::vector<Object>> select_objects(ApiCore& core, const Call& call);

// --- write.cpp
kube::Response create_object(ApiCore& core, Call& call);
kube::Response update_object(ApiCore& core, Call& call);
kube::Response patch_object(ApiCore& core, Call& call);
/// The request's body as an object: 400, 413, 415.
Outcome<api::Json> read_body(const Call& call);
/// Read, change, check, admit, compare-and-swap; again on a conflict that is not the client's. `transform` gets and
/// returns the served form.
using Transform = std::function<Outcome<api::Json>(api::Json served)>;
Outcome<Object> write_object(ApiCore& core, Call& call, Part part, const Transform& transform);
std::string field_manager_of(const Call& call);
/// 404 without the namespace, 403 while it is being deleted.
CheckResult check_namespace(ApiCore& core, const Call& call, const std::string& name);

// --- check.cpp
/// Defaults, prunes and checks `after` (as stored); then the validators. `before` is nullptr on create.
CheckResult check_object(ApiCore& core, const Call& call, const api::Json* before, api::Json& after);
/// Asks the webhooks.
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
void housekeep(ApiCore& core);

// --- eviction.cpp, subresources.cpp
kube::Response evict_pod(ApiCore& core, Call& call);
kube::Response serve_scale(ApiCore& core, Call& call);
kube::Response bind_pod(ApiCore& core, Call& call);
/// SelfSubjectAccessReview: yes.
kube::Response review_access(const Call& call);

// --- crd.cpp
/// Completes a CustomResourceDefinition on its way in: names, conditions, storedVersions.
CheckResult complete_definition(ApiCore& core, api::Json& definition);
bool is_definition(const ServedResource& resource);

// --- discovery.cpp, openapi.cpp, simulator.cpp: nullopt: not their path
std::optional<kube::Response> serve_discovery(ApiCore& core, const Call& call);
std::optional<kube::Response> serve_openapi(ApiCore& core, const Call& call);
std::optional<kube::Response> serve_simulator(ApiCore& core, const Call& call);

// --- watch.cpp
ApiServer::WatchAnswer open_watch(ApiCore& core, Call call);

}  // namespace simulator
