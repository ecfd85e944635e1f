#pragma once

/// An example of a service that implements evacuator.dev/webhook/v1, small enough to be read as documentation. It moves
/// nothing: a "move" only takes time. Options make it lie, for the tests.

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
  base::Duration takes = base::seconds(10);    ///< from Accepted to the end state
  base::Duration aborting = base::seconds(0);  ///< from DELETE until the token is forgotten
  bool evicts_itself = false;                  ///< ends in Moved instead of ReadyToEvict
  std::string fails;                           ///< reason: ends in Failed
  bool retryable = false;
  std::string bearer;  ///< demanded token; empty: none

  enum class Lie {
    kNone,
    kHtml,             ///< 200 with a page of HTML
    kWrongToken,       ///< talks about somebody else's evacuation
    kHuge,             ///< 300 kB
    kWrongTypes,       ///< "progress": "half"
    kWildProgress,     ///< "progress": 1000000000
    kBackwards,        ///< InProgress, then Accepted again
    kForgets,          ///< knows nothing of the token a moment later
    kServerError,      ///< 500 to everything
    kIgnoresAbort,     ///< says 202 to DELETE and goes on
    kRefusesAbort,     ///< 409 to DELETE
    kStartsAnew,       ///< every POST begins again
    kMovedButStays,    ///< Moved at once, and the pod stays
    kAcceptsNonsense,  ///< 202 to any body
  };
  Lie lie = Lie::kNone;
};

/// The service without its socket. Thread-safe.
class WebhookService {
 public:
  /// `clock` must outlive it.
  WebhookService(const base::Clock& clock, WebhookBehaviour behaviour);

  http_server::Response answer(const http_server::Request& request);

  void become(WebhookBehaviour behaviour);
  /// Tokens that are being worked on or done, not those forgotten.
  std::vector<std::string> tokens() const;
  std::size_t starts() const;  ///< distinct tokens ever begun

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
  std::set<std::string> aborted_;  ///< never to be started again
  std::size_t starts_ = 0;
};

}  // namespace fakes
