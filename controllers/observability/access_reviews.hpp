#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"
#include "kube/rate_limiter.hpp"

namespace controllers {

/// Result of an access check.
enum class Access {
  kAllowed,
  kUnauthenticated,  ///< No token, or one that the API server does not know
  kForbidden,        ///< Authenticated, but not authorized
  kUnknown,          ///< The API server did not answer
  kRateLimited,      ///< Rate limit for unknown tokens exceeded
};

/// Authenticates bearer tokens (TokenReview) and checks whether their users may `get` a non-resource path
/// (SubjectAccessReview) with the API server. Caches results for kAllowedFor or kRefusedFor, keyed by token hash, for
/// at most kMaxRemembered entries. Floods of unknown tokens get kRateLimited, limited per address, so that other
/// clients are still reviewed. A token that was allowed before is not rate-limited. Thread-safe; blocking.
class AccessReviews {
 public:
  static constexpr base::seconds kAllowedFor{60};
  static constexpr base::seconds kRefusedFor{10};
  static constexpr std::size_t kMaxRemembered = 256;
  static constexpr std::size_t kMaxPeers = 256;

  /// `client` and `clock` must outlive this object. `clock` must be steady.
  AccessReviews(kube::Client& client, const base::Clock& clock, base::Log log);

  /// `peer` is the client's "address:port". Each address has its own rate limit, and all addresses share one.
  Access may_get(std::string_view path, const std::string& token, std::string_view peer = {});

  std::size_t remembered() const;

 private:
  struct CachedReview {
    Access access = Access::kUnknown;
    base::TimePoint until{};
  };
  struct Peer {
    kube::TokenBucket bucket;
    base::TimePoint seen{};
  };
  std::optional<Access> remembered_access(const std::string& key, std::string_view peer);
  bool may_ask(std::string_view peer, base::TimePoint now);
  void remember(const std::string& key, Access access);
  base::Result<Access> review(std::string_view path, const std::string& token);

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Log log_;
  mutable std::mutex mutex_;
  std::map<std::string, CachedReview> known_;  ///< By hash of path and token
  kube::TokenBucket unknown_tokens_;
  std::map<std::string, Peer, std::less<>> peers_;  ///< By address, the most recently seen ones
};

/// Returns the token of "Bearer <token>", or an empty string.
std::string bearer_token(std::string_view authorization);

}  // namespace controllers
