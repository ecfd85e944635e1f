#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace simulator {

enum class FaultEffect {
  kDropRequest,      ///< the connection closes, nothing was done
  kDropResponse,     ///< done, but the connection closes before the answer
  kDuplicate,        ///< done twice, as by a proxy that repeats what it holds for lost; the second answer is given
  kDelay,            ///< the answer comes `delay` later
  kCutAnswer,        ///< done, but the connection closes within the answer: `at` of its bytes have come
  kTooManyRequests,  ///< 429 of API priority and fairness: plain text, Retry-After
  kInternalError,    ///< 500
  kUnavailable,      ///< 503
  kProxyPage,        ///< a 4xx page of a proxy that has done nothing: HTML, plain text or an empty body
  kCutWatch,         ///< a running watch ends
  kStallWatch,       ///< a running watch stays open and says nothing more
  kHoldBookmark,     ///< a list by a watch never says that it is complete; what changes is told
  kStaleList,        ///< a list answers as of `lag` revisions ago
};
/// "drop-request", "drop-response", "duplicate", "delay", "cut-answer", "too-many-requests", "internal-error",
/// "unavailable", "proxy-page", "cut-watch", "stall-watch", "hold-bookmark", "stale-list".
std::string_view to_string(FaultEffect effect);

/// When to do what. Empty strings match everything.
struct FaultRule {
  FaultEffect effect = FaultEffect::kInternalError;
  std::string verb{};         ///< get list watch create update patch delete deletecollection
  std::string resource{};     ///< plural
  std::string subresource{};  ///< "-" matches only requests without one
  std::string user{};
  double probability = 1;
  std::int64_t count = -1;  ///< how often still; -1: indefinitely
  std::int64_t after = 0;   ///< how many requests, or events of a watch, are spared first
  double at = -1;           ///< 0 to 1; below: chance says
  base::milliseconds delay{1000};
  base::seconds retry_after{1};
  std::uint64_t lag = 10;
  int status = 0;         ///< of kProxyPage; 0: chance says
  std::int64_t hits = 0;  ///< written by Faults
};

/// What a rule is matched against.
struct FaultSubject {
  std::string_view verb;
  std::string_view resource;
  std::string_view subresource;
  std::string_view user;
};

/// When a running watch is asked about.
enum class WatchMoment {
  kPoll,          ///< somebody reads it
  kEvent,         ///< it has an event to tell
  kInitialEvents  ///< it is about to say that it has told what was there
};

/// The server's misfortunes, on demand and reproducible by seed. The first matching rule that fires counts.
/// Thread-safe.
class Faults {
 public:
  explicit Faults(std::uint64_t seed) : random_(seed) {}

  void set(std::vector<FaultRule> rules, std::optional<std::uint64_t> seed = {});
  void add(FaultRule rule);
  void clear() { set({}); }
  std::vector<FaultRule> rules() const;

  /// For a request; never a watch effect (kCutWatch, kStallWatch, kHoldBookmark), and kStaleList only for lists. Of
  /// kCutAnswer `at` is set, of kProxyPage `status`.
  std::optional<FaultRule> strike(const FaultSubject& subject);
  /// For a running watch. Rules with a probability or with `after` fire only with an event, so that polling does not
  /// change the odds; kHoldBookmark fires only at kInitialEvents.
  std::optional<FaultEffect> strike_watch(const FaultSubject& subject, WatchMoment moment);

  /// {"seed": 7, "rules": [{"effect": "drop-response", "verb": "create", "resource": "pods", "subresource": "eviction",
  /// "count": 1}]}
  static base::Result<std::vector<FaultRule>> parse(const api::Json& document);
  api::Json to_json() const;

 private:
  double draw();
  bool fires(FaultRule& rule, const FaultSubject& subject);

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<FaultRule> rules_;
};

}  // namespace simulator
