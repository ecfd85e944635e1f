#include "kube/client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/protobuf/envelope.hpp"
#include "kube/classify.hpp"
#include "kube/rate_limiter.hpp"

namespace kube {
namespace {

constexpr base::milliseconds kListLook{1000};
/// Maximum duration of a streamed list, because a server may send very slowly without ever being silent.
constexpr base::minutes kMaxList{5};

/// Maps kNotFound to kUnsupported, so that the caller falls back to the paged list, which can distinguish a proxy's 404
/// from the server's.
base::Error not_streamed(base::Error error, const ResourceType& type) {
  if (error.code == base::ErrorCode::kNotFound) error.code = base::ErrorCode::kUnsupported;
  return std::move(error).during(fmt::format("reading the list of {}", type.plural));
}

/// Returns the metadata of a list whose items were streamed before. Fails if the list has further pages.
base::Result<api::ListMeta> whole_list(std::string_view envelope, const ResourceType& type) {
  auto meta = api::decode_list_meta(envelope);
  if (meta && !meta->continue_token.empty())
    return not_streamed({base::ErrorCode::kUnsupported, "the list from the cache continues in pages"}, type);
  return meta;
}

/// Opens a watch or a streamed list. Holds the limiter's permit only while opening.
template <typename Open>
base::Result<std::unique_ptr<WatchStream>> opened(RateLimiter* limiter, const Request& request, Open open) {
  if (limiter == nullptr) return open();
  const auto permit = limiter->acquire(request.flow);
  if (!permit) return permit.error();
  return open();
}

}  // namespace

base::Result<Response> Client::send(const Request& request, const Fence& fence) {
  if (limiter_ == nullptr) return send_now(request, fence);
  auto permit = limiter_->acquire(request.flow);
  if (!permit) return std::move(permit).error();
  return send_now(request, fence);
}

base::Result<Response> Client::send_now(const Request& request, const Fence& fence) {
  if (request.method != "GET" && may_change_ && !may_change_())
    return base::Error{base::ErrorCode::kCancelled, "this replica is not the leader"};
  if (!fence) return transport_.round_trip(request);
  const auto left = fence();
  if (!left) return left.error();
  Request bounded = request;
  bounded.timeout = std::min(bounded.timeout, *left);
  return transport_.round_trip(bounded);
}

base::Result<std::string> Client::call(const Request& request) {
  auto sent = send(request);
  if (!sent) return std::move(sent).error().during(fmt::format("{} {}", request.method, request.path));
  if (auto doubt = doubtful_absence(request, *sent))
    return std::move(*doubt).during(fmt::format("{} {}", request.method, request.path));
  auto answer = classify(*std::move(sent));
  if (!answer) return std::move(answer).error().during(fmt::format("{} {}", request.method, request.path));
  return std::move(answer->body);
}

base::Result<std::string> Client::get(const ResourceType& type, const api::ObjectKey& key) {
  return call(get_request(type, key));
}

base::Result<api::ListMeta> Client::list(const ResourceType& type, ListOptions options,
                                         const std::function<base::Status(std::string_view item)>& each) {
  for (;;) {
    const auto page = call(list_request(type, options));
    if (!page) return page.error();
    auto meta = api::for_each_item(*page, each);
    if (!meta) return std::move(meta).error().during(fmt::format("reading the list of {}", type.plural));
    if (meta->continue_token.empty()) return meta;
    if (meta->continue_token == options.continue_token)
      return base::unavailable(fmt::format("listing {}: the server repeats the same page indefinitely", type.plural));
    options.continue_token = std::move(meta->continue_token);
  }
}

base::Result<std::unique_ptr<WatchStream>> Client::open_list(const Request& request) {
  return opened(limiter_, request, [&] { return transport_.list(request); });
}

base::Result<api::ListMeta> Client::list_cached(const ResourceType& type, ListOptions options,
                                                const std::function<base::Status(std::string_view item)>& each) {
  options.protobuf = true;
  options.limit = 0;  // the server would ignore it
  options.resource_version = "0";
  const Request request = list_request(type, options);
  const auto stream = open_list(request);
  if (!stream) return not_streamed(stream.error(), type);
  const std::string list_kind = std::string(type.kind) + "List";
  const auto deadline = std::chrono::steady_clock::now() + kMaxList;
  for (auto silent = base::milliseconds(0); silent < request.timeout; silent += kListLook) {
    auto next = (*stream)->next(kListLook);
    if (!next) return not_streamed(std::move(next).error(), type);
    if (std::chrono::steady_clock::now() > deadline) break;
    if (!*next) continue;
    silent = base::milliseconds(0);
    auto envelope = api::protobuf::open(**next);
    if (!envelope) return not_streamed(std::move(envelope).error(), type);
    if (envelope->kind == list_kind) return whole_list(**next, type);
    if (auto done = each(**next); !done) return std::move(done).error();
  }
  return base::unavailable(fmt::format("reading the list of {}: timed out without new data", type.plural));
}

base::Result<std::unique_ptr<WatchStream>> Client::watch(const ResourceType& type, const ListOptions& options,
                                                         base::seconds timeout) {
  const Request request = watch_request(type, options, timeout);
  return opened(limiter_, request, [&] { return transport_.watch(request); });
}

base::Result<std::string> Client::create(const ResourceType& type, const std::string& ns, const api::Json& body) {
  return call(create_request(type, ns, body));
}

base::Result<std::string> Client::update(const ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                                         std::string_view subresource) {
  return call(update_request(type, key, body, subresource));
}

base::Result<std::string> Client::patch(const ResourceType& type, const api::ObjectKey& key, PatchType kind,
                                        const api::Json& patch, std::string_view subresource) {
  return call(patch_request(type, key, kind, patch, subresource));
}

base::Status Client::remove(const ResourceType& type, const api::ObjectKey& key, std::string_view uid) {
  auto answer = call(delete_request(type, key, uid));
  if (!answer) return std::move(answer).error();
  return base::Done{};
}

}  // namespace kube
