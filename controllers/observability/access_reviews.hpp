#pragma once

#include <chrono>
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

/// What the API server says of somebody who asks us for something.
enum class Access {
  kAllowed,
  kUnauthenticated,  ///< no token, or one that the API server does not know
  kForbidden,        ///< known, and not allowed
  kUnknown,          ///< the API server gave no answer
  kTooMany,          ///< too many strangers ask at the moment
};

/// Asks the API server who the bearer of a token is (TokenReview) and whether they may `get` a path that is no resource
/// (SubjectAccessReview). Answers are remembered for a short time, of so many tokens at most, by the tokens' hashes.
/// Who floods it with tokens gets kTooMany, and leaves others their chance; whoever was allowed before is asked about
/// all the same. Thread-safe; blocking.
class AccessReviews {
 public:
  static constexpr base::seconds kAllowedFor{60};
  static constexpr base::seconds kRefusedFor{10};
  static constexpr std::size_t kMaxRemembered = 256;
  static constexpr std::size_t kMaxPeers = 256;

  /// `client` and `clock` (a steady one) must outlive it.
  AccessReviews(kube::Client& client, const base::Clock& clock, base::Log log);

  /// `peer`: "address:port" of who asks; each address has a rate of its own, and all of them together have one.
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
  std::map<std::string, CachedReview> known_;  ///< by hash of path and token
  kube::TokenBucket strangers_;
  std::map<std::string, Peer, std::less<>> peers_;  ///< by address, those seen last
};

/// The token of "Bearer <token>"; empty: there is none.
std::string bearer_token(std::string_view authorization);

}  // namespace controllers
