#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/core/codec.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/request.hpp"
#include "kube/resource.hpp"
#include "kube/transport.hpp"

namespace kube {

class RateLimiter;

/// What an answer means, whatever the verb; the body's Status.message becomes the Error's message. The one place where
/// HTTP codes become ErrorCodes (table test: test/unit/kube/classify_test.cpp). 2xx → the response.
base::Result<Response> classify(Response response);

/// Kubernetes verbs over a Transport: fair client-side rate limit, then one round trip, then classify(). Retries
/// nothing (back-off lives in the work queue). Thread-safe; blocking.
class Client {
 public:
  /// Whether this process may change anything now.
  using MayChange = std::function<bool()>;
  /// How long a request may take, asked when its turn has come. An error: it is not sent.
  using Fence = std::function<base::Result<base::milliseconds>()>;

  /// `limiter` may be nullptr (simulations). All references must outlive the client. `may_change` is asked when the
  /// turn of a request that is no GET has come: the wait for it may be longer than a leadership. False: the request is
  /// not sent, kCancelled.
  Client(Transport& transport, RateLimiter* limiter, MayChange may_change = {})
      : transport_(transport), limiter_(limiter), may_change_(std::move(may_change)) {}

  /// Waits for the request's turn, sends it, returns any HTTP answer as it is. `fence` may shorten its timeout.
  base::Result<Response> send(const Request& request, const Fence& fence = {});
  /// send() + classify(); the body of a 2xx answer. kNotFound for one object: the server said so by the object's name;
  /// any other 404 is kUnavailable (doubtful_absence()).
  base::Result<std::string> call(const Request& request);

  /// Raw JSON of the object.
  base::Result<std::string> get(const ResourceType& type, const api::ObjectKey& key);
  /// All pages; `each` gets the raw JSON of every item. A continue token that expired half way (410) is kGone.
  base::Result<api::ListMeta> list(const ResourceType& type, ListOptions options,
                                   const std::function<base::Status(std::string_view item)>& each);
  /// The same in one answer that is read item by item, in whatever version the server has in its watch cache: cheaper
  /// for the server, and perhaps older than what another server would say. kUnsupported: use list().
  base::Result<api::ListMeta> list_cached(const ResourceType& type, ListOptions options,
                                          const std::function<base::Status(std::string_view item)>& each);
  base::Result<std::unique_ptr<WatchStream>> watch(const ResourceType& type, const ListOptions& options,
                                                   base::seconds timeout);
  base::Result<std::string> create(const ResourceType& type, const std::string& ns, const api::Json& body);
  base::Result<std::string> update(const ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                                   std::string_view subresource = {});
  base::Result<std::string> patch(const ResourceType& type, const api::ObjectKey& key, PatchType kind,
                                  const api::Json& patch, std::string_view subresource = {});
  base::Status remove(const ResourceType& type, const api::ObjectKey& key, std::string_view uid);

 private:
  base::Result<Response> send_now(const Request& request, const Fence& fence);
  base::Result<std::unique_ptr<WatchStream>> open_list(const Request& request);

  Transport& transport_;
  RateLimiter* limiter_;
  MayChange may_change_;
};

/// What the server serves; asked at start, and again by DiscoveryWatch.
struct Discovery {
  std::string server_version;    ///< "v1.20.2"
  std::string eviction_version;  ///< "v1" or "v1beta1": the policy version of Eviction bodies
  ResourceType pdbs = kPdbs;     ///< kPdbs or kPdbsV1beta1
  bool has_evacuations = false;  ///< the CRDs are installed
  bool has_policies = false;
  bool has_native_evictions = false;              ///< lifecycle.k8s.io/v1alpha1, both kinds
  std::optional<ResourceType> resource_claims{};  ///< absent: the server does not allocate devices by claims
  std::optional<ResourceType> pod_groups{};       ///< absent: the server has no PodGroups of scheduling.k8s.io
  friend bool operator==(const Discovery&, const Discovery&) = default;
};
base::Result<Discovery> discover(Client& client);

}  // namespace kube
