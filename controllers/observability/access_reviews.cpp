#include "controllers/observability/access_reviews.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/crypto/hash.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr double kUnknownTokensPerSecond = 5;
constexpr int kUnknownTokensBurst = 20;
constexpr double kPerPeerPerSecond = 1;
constexpr int kPerPeerBurst = 5;
constexpr base::milliseconds kReviewTimeout{10'000};

kube::Request review_request(const char* group, const char* plural, const char* kind, Json spec) {
  kube::Request request;
  request.method = "POST";
  request.path = std::string("/apis/") + group + "/v1/" + plural;
  request.content_type = "application/json";
  request.body = Json{{"apiVersion", std::string(group) + "/v1"}, {"kind", kind}, {"spec", std::move(spec)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
  request.timeout = kReviewTimeout;
  return request;
}

base::Result<Json> ask(kube::Client& client, const kube::Request& request) {
  const auto body = client.call(request);
  if (!body) return body.error();
  Json answer = Json::parse(*body, nullptr, false);
  if (!api::find_at(answer, {"status"})) return base::unavailable("the response to a review is not valid");
  return answer;
}

}  // namespace

AccessReviews::AccessReviews(kube::Client& client, const base::Clock& clock, base::Log log)
    : client_(client),
      clock_(clock),
      log_(std::move(log)),
      unknown_tokens_(kUnknownTokensPerSecond, kUnknownTokensBurst) {}

Access AccessReviews::may_get(std::string_view path, const std::string& token, std::string_view peer) {
  if (token.empty()) return Access::kUnauthenticated;
  const std::string key = crypto::sha256(std::string(path) + "\n" + token);
  if (const auto access = remembered_access(key, peer)) return *access;
  const auto reviewed = review(path, token);
  if (!reviewed) {
    log_.warning("an access review failed", {base::kv("path", path), base::kv("error", reviewed.error())});
    return Access::kUnknown;
  }
  remember(key, *reviewed);
  return *reviewed;
}

/// Returns a result that needs no review: a cached one, or kRateLimited for an unknown token beyond its rate limit.
std::optional<Access> AccessReviews::remembered_access(const std::string& key, std::string_view peer) {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(key);
  if (known != known_.end() && now < known->second.until) return known->second.access;
  // Limits by address, without the port: "10.0.0.7:40112", "[fd00::7]:40112".
  const bool was_allowed = known != known_.end() && known->second.access == Access::kAllowed;
  if (!was_allowed && !may_ask(peer.substr(0, peer.rfind(':')), now)) return Access::kRateLimited;
  return std::nullopt;
}

/// Takes from the shared limit only within the address's own rate. REQUIRES: mutex_ held.
bool AccessReviews::may_ask(std::string_view peer, base::TimePoint now) {
  auto known = peers_.find(peer);
  if (known == peers_.end()) {
    if (peers_.size() >= kMaxPeers)
      peers_.erase(std::ranges::min_element(peers_, {}, [](const auto& each) { return each.second.seen; }));
    known = peers_.emplace(std::string(peer), Peer{{kPerPeerPerSecond, kPerPeerBurst}}).first;
  }
  known->second.seen = now;
  return known->second.bucket.try_take(now) && unknown_tokens_.try_take(now);
}

/// Evicts the entry that expires first, refused entries before allowed ones.
void AccessReviews::remember(const std::string& key, Access access) {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  known_[key] = {access, now + (access == Access::kAllowed ? kAllowedFor : kRefusedFor)};
  if (known_.size() <= kMaxRemembered) return;
  const auto rank = [](const auto& each) {
    return std::pair(each.second.access == Access::kAllowed, each.second.until);
  };
  known_.erase(std::ranges::min_element(known_, {}, rank));
}

base::Result<Access> AccessReviews::review(std::string_view path, const std::string& token) {
  const auto who =
      ask(client_, review_request("authentication.k8s.io", "tokenreviews", "TokenReview", {{"token", token}}));
  if (!who) return who.error().during("TokenReview");
  const Json* user = api::find_at(*who, {"status", "user"});
  if (!api::flag_at(*who, {"status", "authenticated"}) || !user) return Access::kUnauthenticated;
  Json spec = {{"user", api::text_at(*user, {"username"})}};
  for (const char* field : {"uid", "groups", "extra"}) {
    if (const Json* found = api::find_at(*user, {field})) spec[field] = *found;
  }
  spec["nonResourceAttributes"] = {{"path", path}, {"verb", "get"}};
  const auto may = ask(
      client_, review_request("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", std::move(spec)));
  if (!may) return may.error().during("SubjectAccessReview");
  return api::flag_at(*may, {"status", "allowed"}) ? Access::kAllowed : Access::kForbidden;
}

std::size_t AccessReviews::remembered() const {
  const std::scoped_lock lock(mutex_);
  return known_.size();
}

std::string bearer_token(std::string_view authorization) {
  constexpr std::string_view kBearer = "bearer ";
  if (authorization.size() <= kBearer.size()) return {};
  const bool is_bearer = std::equal(kBearer.begin(), kBearer.end(), authorization.begin(), [](char wanted, char is) {
    return wanted == (is >= 'A' && is <= 'Z' ? static_cast<char>(is + ('a' - 'A')) : is);
  });
  return is_bearer ? std::string(authorization.substr(kBearer.size())) : std::string();
}

}  // namespace controllers
