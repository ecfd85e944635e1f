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

/// Who asks. `agent` is the User-Agent, from which Kubernetes derives a field manager when the request names none.
struct User {
  std::string name = "kubernetes-admin";
  std::vector<std::string> groups;
  std::string agent;
};

/// What an admission webhook is asked.
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

/// A webhook's "no". Codes below 400 become 400 and the message gets the prefix `admission webhook "<name>" denied the
/// request: `.
struct Denial {
  int code = 403;
  std::string message;
  std::string reason;
  bool call_failed = false;  ///< the webhook could not be reached: 500 `failed calling webhook …`; `message` says why
};

struct Webhook {
  std::string name;
  /// nullopt: allowed, or not its business. Runs outside the store's lock and may use the store and the API server.
  std::function<std::optional<Denial>(const AdmissionRequest& request)> review;
  bool supports_dry_run = true;
  /// Whether a dry run must be refused when supports_dry_run is false; absent: it concerns everything.
  std::function<bool(const AdmissionRequest& request)> concerns;
};

/// Rules of one kind beyond its schema and the CEL rules in it. `before` is nullptr on create.
using Validator = std::function<api::FieldErrors(const api::Json* before, const api::Json& after)>;

struct RequestInfo;
/// Paths that are no resources of this server: what an aggregated API server answers. nullopt: not its business. Runs
/// outside the store's lock and may use the store.
using Endpoint = std::function<std::optional<kube::Response>(const RequestInfo& info, const kube::Request& request)>;

struct ApiServerOptions {
  PolicyVersion policy =
      PolicyVersion::kV1;  ///< kV1beta1: a server of before 1.21, in PDB, Eviction and empty selectors
  std::string version = "v1.36.0";
  std::uint64_t seed = 1;  ///< of the faults
  std::size_t journal_limit = 100'000;
  /// false: creates and updates leave metadata.managedFields alone, which is a third of the work of a write; only for
  /// clusters in which nobody applies (server-side) and nobody looks at it.
  bool track_fields = true;
  /// How webhooks of webhook configurations are called. Empty: over HTTPS, where Services cannot be found.
  WebhookCaller call_webhook{};
};

/// What a server can or cannot do. May change at any time, as behind a load balancer with servers of two versions.
struct Abilities {
  /// Answers core kinds in protobuf to clients that ask for it: only the fields that our own decoders read.
  std::atomic<bool> protobuf{true};
  /// Begins a watch with a list where it is asked to (sendInitialEvents); false: refuses that, as without the feature.
  std::atomic<bool> streamed_lists{true};
};

/// A complete answer and what a fault makes of it.
struct ApiAnswer {
  kube::Response response;
  bool dropped = false;                 ///< the client gets a closed connection instead
  bool carried_out = true;              ///< false only when dropped before anything was done
  base::milliseconds delay{0};          ///< the client gets it that much later
  std::optional<std::size_t> cut_at{};  ///< so many bytes of the body come, then the connection closes
};

struct ApiCore;

/// A Kubernetes API server over a Store: verbs, patches, subresources, eviction with PDB arithmetic, CRDs, tables,
/// discovery, watches; without authentication (the caller says who the user is) and authorization (everybody may do
/// everything). Admission webhooks are called on creations and updates; mutating ones also on pods that the cluster's
/// own controllers make. What it does not do: CEL, conversion webhooks, warnings of webhooks, protobuf in requests and
/// of other kinds than we read, exec/logs/proxy, quotas. Thread-safe. Never throws, whatever it is sent. `store` must
/// outlive it; it has one server.
class ApiServer {
 public:
  explicit ApiServer(Store& store, ApiServerOptions options = {});
  ~ApiServer();

  /// Any request but a watch. With a fault in the way, the answer as if there was none.
  kube::Response handle(const kube::Request& request, const User& user);
  /// The same, with faults.
  ApiAnswer answer(const kube::Request& request, const User& user);
  /// A GET with watch=true. The stream's next() never blocks when `wait` is 0 and otherwise sleeps on Store::wait_past;
  /// it must not outlive the server. Failing to open: `refusal` has the answer.
  struct WatchAnswer {
    std::unique_ptr<kube::WatchStream> stream;
    kube::Response refusal;
    bool is_protobuf = false;  ///< the stream gives frames, not lines
  };
  WatchAnswer watch(const kube::Request& request, const User& user);

  /// Before any traffic.
  void add_webhook(Webhook webhook);
  void add_validator(const kube::ResourceType& type, Validator validator);
  void add_endpoint(Endpoint endpoint);
  /// What `kubectl apply` of a CRD does; replaces an installed one.
  base::Status install_crd(const api::Json& definition);

  /// Finishes what nobody else does: empties terminating namespaces and definitions. Cheap when there are none; also
  /// done by every request and watch.
  void housekeep();

  Store& store();
  Faults& faults();
  Abilities& abilities();
  RequestLog& journal();
  const Registry& registry() const;

 private:
  std::unique_ptr<ApiCore> core_;
};

/// The in-process way to the server, for one user.
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
