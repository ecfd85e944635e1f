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

/// Converts an HTTP answer into a result, independent of the verb: the response for 2xx, else an Error with the body's
/// Status.message. The only place that maps HTTP codes to ErrorCodes (table test: test/unit/kube/classify_test.cpp).
base::Result<Response> classify(Response response);

/// Kubernetes verbs over a Transport: fair client-side rate limit, one round trip, classify(). Does not retry; backoff
/// is in the work queue. Thread-safe. Calls block.
class Client {
 public:
  /// Returns whether this process may change objects now.
  using MayChange = std::function<bool()>;
  /// Returns the timeout of a request, called after the rate limiter has admitted it. An error means that the request
  /// must not be sent.
  using Fence = std::function<base::Result<base::milliseconds>()>;

  /// `limiter` may be nullptr (simulations). All references must outlive the client. `may_change` is called after the
  /// rate limiter has admitted a request other than GET, because waiting may take longer than a leadership. If it
  /// returns false, the request fails with kCancelled and is not sent.
  Client(Transport& transport, RateLimiter* limiter, MayChange may_change = {})
      : transport_(transport), limiter_(limiter), may_change_(std::move(may_change)) {}

  /// Waits for the rate limiter, sends the request and returns any HTTP answer unmodified. `fence` may shorten the
  /// timeout.
  base::Result<Response> send(const Request& request, const Fence& fence = {});
  /// Calls send() and classify(), and returns the body of a 2xx answer. For a single object, kNotFound is returned only
  /// if the server names the object. Any other 404 is kUnavailable (doubtful_absence()).
  base::Result<std::string> call(const Request& request);

  /// Returns the raw JSON of the object.
  base::Result<std::string> get(const ResourceType& type, const api::ObjectKey& key);
  /// Lists all pages. `each` receives the raw JSON of every item. Returns kGone if a continue token expired (410).
  base::Result<api::ListMeta> list(const ResourceType& type, ListOptions options,
                                   const std::function<base::Status(std::string_view item)>& each);
  /// Lists all items in one streamed answer, in the version that is in the server's watch cache. Cheaper for the server
  /// than list(), but may be older than another server's state. On kUnsupported, use list().
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

/// APIs that the server serves. Read at start and again by DiscoveryWatch.
struct Discovery {
  std::string server_version;    ///< "v1.20.2"
  std::string eviction_version;  ///< "v1" or "v1beta1", the policy version of Eviction bodies
  ResourceType pdbs = kPdbs;     ///< kPdbs or kPdbsV1beta1
  bool has_evacuations = false;  ///< the CRDs are installed
  bool has_policies = false;
  bool has_native_evictions = false;              ///< lifecycle.k8s.io/v1alpha1, both kinds
  std::optional<ResourceType> resource_claims{};  ///< absent if the server has no ResourceClaims
  std::optional<ResourceType> pod_groups{};       ///< absent if the server has no PodGroups of scheduling.k8s.io
  friend bool operator==(const Discovery&, const Discovery&) = default;
};
base::Result<Discovery> discover(Client& client);

}  // namespace kube
