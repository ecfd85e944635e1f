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
  kDropRequest,      ///< the connection closes; the request is not executed
  kDropResponse,     ///< the request is executed, but the connection closes before the response
  kDuplicate,        ///< the request is executed twice, as by a retrying proxy; the second response is returned
  kDelay,            ///< the response is delayed by `delay`
  kCutAnswer,        ///< the request is executed, but the connection closes after fraction `at` of the response
  kTooManyRequests,  ///< 429 of API priority and fairness: plain text, Retry-After
  kInternalError,    ///< 500
  kUnavailable,      ///< 503
  kProxyPage,        ///< a 4xx page of a proxy; the request is not executed: HTML, plain text or an empty body
  kCutWatch,         ///< an open watch ends
  kStallWatch,       ///< an open watch stays open, but sends no more events
  kHoldBookmark,     ///< a streamed list never sends its final bookmark; changes are still sent
  kStaleList,        ///< a list returns the state `lag` revisions ago
};
/// Returns the name in JSON, such as "drop-request".
std::string_view to_string(FaultEffect effect);

/// A fault and the requests that it applies to. Empty strings match everything.
struct FaultRule {
  FaultEffect effect = FaultEffect::kInternalError;
  std::string verb{};         ///< get list watch create update patch delete deletecollection
  std::string resource{};     ///< plural
  std::string subresource{};  ///< "-" matches only requests without one
  std::string user{};
  double probability = 1;
  std::int64_t count = -1;  ///< remaining number of hits, -1 for no limit
  std::int64_t after = 0;   ///< number of requests, or watch events, to skip first
  double at = -1;           ///< fraction of the response, 0 to 1; random if negative
  base::milliseconds delay{1000};
  base::seconds retry_after{1};
  std::uint64_t lag = 10;
  int status = 0;         ///< status of kProxyPage; random if 0
  std::int64_t hits = 0;  ///< number of hits, set by Faults
};

/// Attributes of a request that rules match.
struct FaultSubject {
  std::string_view verb;
  std::string_view resource;
  std::string_view subresource;
  std::string_view user;
};

/// Event of an open watch at which faults can strike.
enum class WatchMoment {
  kPoll,          ///< the client reads
  kEvent,         ///< an event is about to be sent
  kInitialEvents  ///< the bookmark that ends the initial events is about to be sent
};

/// Injects faults into the server, reproducibly by seed. The first matching rule that fires applies. Thread-safe.
class Faults {
 public:
  explicit Faults(std::uint64_t seed) : random_(seed) {}

  void set(std::vector<FaultRule> rules, std::optional<std::uint64_t> seed = {});
  void add(FaultRule rule);
  void clear() { set({}); }
  std::vector<FaultRule> rules() const;

  /// Returns the fault for a request, nullopt for none. Never a watch effect (kCutWatch, kStallWatch, kHoldBookmark);
  /// kStaleList only for lists. Sets `at` of kCutAnswer and `status` of kProxyPage.
  std::optional<FaultRule> strike(const FaultSubject& subject);
  /// Returns the fault for an open watch. Rules with a probability or with `after` fire only on events, so that polling
  /// does not affect the probability. kHoldBookmark fires only at kInitialEvents.
  std::optional<FaultEffect> strike_watch(const FaultSubject& subject, WatchMoment moment);

  /// Parses {"seed": 7, "rules": [{"effect": "drop-response", "verb": "create", "resource": "pods", "subresource":
  /// "eviction", "count": 1}]}.
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
