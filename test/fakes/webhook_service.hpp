#pragma once

/// Example of a service that implements evacuator.dev/webhook/v1, short enough to serve as documentation. It moves
/// nothing: a "move" only takes time. Options make it misbehave for tests.

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "http_server/server.hpp"

namespace fakes {

struct WebhookBehaviour {
  base::Duration takes = base::seconds(10);    ///< Time from Accepted to the end state
  base::Duration aborting = base::seconds(0);  ///< Time from DELETE until the token is forgotten
  bool evicts_itself = false;                  ///< Ends in Moved instead of ReadyToEvict
  std::string fails;                           ///< Reason of a failure. If set, ends in Failed.
  bool retryable = false;
  std::string bearer;  ///< Required bearer token, empty for none

  enum class Lie {
    kNone,
    kHtml,             ///< 200 with an HTML page
    kWrongToken,       ///< Returns the token of another evacuation
    kHuge,             ///< 300 kB
    kWrongTypes,       ///< "progress": "half"
    kWildProgress,     ///< "progress": 1000000000
    kBackwards,        ///< InProgress, then Accepted again
    kForgets,          ///< Forgets the token after a moment
    kServerError,      ///< 500 to every request
    kIgnoresAbort,     ///< Answers 202 to DELETE and continues
    kRefusesAbort,     ///< 409 to DELETE
    kStartsAnew,       ///< Every POST restarts the work
    kMovedButStays,    ///< Moved immediately, while the pod stays
    kAcceptsNonsense,  ///< 202 to any body
  };
  Lie lie = Lie::kNone;
};

/// The service without its socket. Thread-safe.
class WebhookService {
 public:
  /// `clock` must outlive the service.
  WebhookService(const base::Clock& clock, WebhookBehaviour behaviour);

  http_server::Response answer(const http_server::Request& request);

  void become(WebhookBehaviour behaviour);
  /// Returns tokens in progress or done, without forgotten ones.
  std::vector<std::string> tokens() const;
  std::size_t starts() const;  ///< Number of distinct tokens ever started

 private:
  struct Work {
    base::TimePoint began{};
    std::string pod;
    bool seen_running = false;
    base::TimePoint forget_at = base::TimePoint::max();
  };

  http_server::Response start(const std::string& token, const std::string& body);
  http_server::Response status(const std::string& token);
  http_server::Response abort(const std::string& token);
  http_server::Response describe(const std::string& token, Work& work, int code);
  void forget_aborted();

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  WebhookBehaviour behaviour_;
  std::map<std::string, Work> works_;
  std::set<std::string> aborted_;  ///< Tokens that must not be started again
  std::size_t starts_ = 0;
};

}  // namespace fakes
