#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"
#include "simulator/api/request_log.hpp"
#include "simulator/faults.hpp"
#include "simulator/registry/registry.hpp"
#include "simulator/store.hpp"
#include "simulator/webhooks/configured.hpp"

namespace simulator {

/// The client's identity. `agent` is the User-Agent, from which Kubernetes derives a field manager if the request has
/// none.
struct User {
  std::string name = "kubernetes-admin";
  std::vector<std::string> groups;
  std::string agent;
};

/// Input of an admission webhook.
struct AdmissionRequest {
  const User& user;
  std::string_view verb;  ///< create, update, delete; an eviction is a create of subresource "eviction"
  const ServedResource& resource;
  std::string_view subresource;
  api::ObjectKey key;
  const api::Json* object = nullptr;      ///< new object, or the Eviction; nullptr for delete
  const api::Json* old_object = nullptr;  ///< nullptr for create
  bool dry_run = false;
};

/// Denial by a webhook. Codes below 400 become 400, and the message gets the prefix `admission webhook "<name>" denied
/// the request: `.
struct Denial {
  int code = 403;
  std::string message;
  std::string reason;
  bool call_failed =
      false;  ///< the webhook could not be reached: 500 `failed calling webhook …`; `message` is the reason
};

struct Webhook {
  std::string name;
  /// Returns nullopt if the request is allowed or not handled. Called without the store's lock; may use the store and
  /// the API server.
  std::function<std::optional<Denial>(const AdmissionRequest& request)> review;
  bool supports_dry_run = true;
  /// Returns true if a dry run of the request must be refused when supports_dry_run is false. If empty, every dry run
  /// is refused.
  std::function<bool(const AdmissionRequest& request)> concerns{};
};

/// Validation of one kind beyond its schema and CEL rules. `before` is nullptr on create.
using Validator = std::function<api::FieldErrors(const api::Json* before, const api::Json& after)>;

struct RequestInfo;
/// Handles paths that are not resources of this server, like an aggregated API server. Returns nullopt for paths it
/// does not handle. Called without the store's lock; may use the store.
using Endpoint = std::function<std::optional<kube::Response>(const RequestInfo& info, const kube::Request& request)>;

struct ApiServerOptions {
  PolicyVersion policy =
      PolicyVersion::kV1;  ///< kV1beta1 behaves like a server before 1.21 regarding PDBs, Evictions and empty selectors
  std::string version = "v1.36.0";
  std::uint64_t seed = 1;  ///< seed of the faults
  /// If false, creates and updates do not change metadata.managedFields, which is a third of the cost of a write. Only
  /// for clusters without server-side apply and readers of managedFields.
  bool track_fields = true;
  /// Calls the webhooks of webhook configurations. If empty, calls over HTTPS, which cannot resolve Services.
  WebhookCaller call_webhook{};
};

/// Optional features of the server. May change at any time, like behind a load balancer with servers of two versions.
struct ServerFeatures {
  /// Encodes core kinds as protobuf for clients that request it, with only the fields that our decoders read.
  std::atomic<bool> protobuf{true};
  /// Supports watches that begin with a list (sendInitialEvents). If false, rejects them, like a server without the
  /// feature.
  std::atomic<bool> streamed_lists{true};
};

/// A complete response, and how a fault changes its delivery.
struct ApiAnswer {
  kube::Response response;
  bool dropped = false;                 ///< the connection is closed instead of sending the response
  bool carried_out = true;              ///< false only if dropped before the request was executed
  base::milliseconds delay{0};          ///< delay of the response
  std::optional<std::size_t> cut_at{};  ///< the connection closes after this number of body bytes
};

struct ApiCore;

/// A Kubernetes API server over a Store: verbs, patches, subresources, eviction with PDB arithmetic, CRDs, tables,
/// discovery, watches. There is no authentication (the caller passes the user) and no authorization (every request is
/// allowed). Admission webhooks are called for creates and updates; mutating ones also for pods created by the
/// cluster's controllers. Not supported: CEL outside of CRD schemas, conversion webhooks, warnings of webhooks,
/// protobuf in requests and for kinds that our decoders do not read, exec/logs/proxy, quotas. Thread-safe. Never throws
/// on any input. `store` must outlive the server and must have only one server.
class ApiServer {
 public:
  explicit ApiServer(Store& store, ApiServerOptions options = {});
  ~ApiServer();

  /// Handles any request except a watch, without faults.
  kube::Response handle(const kube::Request& request, const User& user);
  /// Handles any request except a watch, with faults.
  ApiAnswer answer(const kube::Request& request, const User& user);
  /// Handles a GET with watch=true. The stream's next() never blocks if `wait` is 0, otherwise sleeps on
  /// Store::wait_past. The stream must not outlive the server. If the watch cannot be opened, `stream` is nullptr and
  /// `refusal` has the response.
  struct WatchAnswer {
    std::unique_ptr<kube::WatchStream> stream;
    kube::Response refusal;
    bool is_protobuf = false;  ///< the stream returns protobuf frames instead of lines
  };
  WatchAnswer watch(const kube::Request& request, const User& user);

  /// Call before any traffic.
  void add_webhook(Webhook webhook);
  void add_validator(const kube::ResourceType& type, Validator validator);
  void add_endpoint(Endpoint endpoint);
  /// Creates or replaces a CRD, like `kubectl apply`.
  base::Status install_crd(const api::Json& definition);

  /// Empties and removes terminating namespaces and CRDs. Cheap if there are none. Also called by every request and
  /// watch.
  void finish_terminating();

  Store& store();
  Faults& faults();
  ServerFeatures& abilities();
  RequestLog& journal();
  const Registry& registry() const;

 private:
  std::unique_ptr<ApiCore> core_;
};

/// In-process transport to the server for one user.
class SimulatorTransport final : public kube::Transport {
 public:
  /// `server` must outlive the transport and its streams.
  SimulatorTransport(ApiServer& server, User user) : server_(server), user_(std::move(user)) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request& request) override;

 private:
  ApiServer& server_;
  User user_;
};

}  // namespace simulator
