#pragma once

/// What the Evacuation controller needs from the world beside kube::Client; implemented by the wiring.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "evictors/evictor.hpp"

namespace controllers::evacuation {

/// Which service is called, as what, and for whom.
struct ServiceCall {
  std::string service;  ///< empty: the API server
  std::string use;      ///< one of api::kServiceUses
  std::string ns;       ///< of the Evacuation
};

/// HTTPS services beside the API server that evictors call by name (webhooks, Patroni): endpoints and credentials are
/// the operator's configuration, never an object's. Thread-safe; each call has a timeout.
class ServiceCaller {
 public:
  virtual ~ServiceCaller() = default;
  /// Why the operator's configuration forbids this call: it names service, namespace and field. Empty: it may be made,
  /// or there is no service of that name.
  virtual std::string refusal(const ServiceCall& call) const = 0;
  /// kInvalid: there is no service of that name, or refusal() is not empty.
  virtual evictors::CallResult send(const ServiceCall& call, const kube::Request& request) = 0;
  virtual const std::vector<std::string>& names() const = 0;
};

/// Prometheus sees it through this. Thread-safe. Labels never hold pod names.
class Metrics {
 public:
  virtual ~Metrics() = default;
  /// A stored status change: phases, durations, results, blocked time and aborts all follow from the two states.
  virtual void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) = 0;
  /// An answer to a call of ours; `code` 0: none came.
  virtual void on_answer(std::string_view action, int code, std::string_view response_class) = 0;
  /// The server refuses to store what becomes of an Evacuation; once for each version of it.
  virtual void on_refused_write() {}
};

/// The audit log as the Evacuation controller sees it. Thread-safe; never fails, and blocks no longer than a write
/// does.
class Audit {
 public:
  virtual ~Audit() = default;
  /// A stored status change: transitions, intents, cancels, blocks and verdicts follow from the two states.
  virtual void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) = 0;
  /// The answer to a mutating call under the current token, and what the evictor read in it.
  virtual void on_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                         const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                         base::TimePoint now) = 0;
  /// Header traceparent of the call that is about to be sent, `now`; empty: it is not traced.
  virtual std::string context_of_call(const api::Evacuation&, const evictors::Action&, base::TimePoint) const {
    return {};
  }
  /// The server refuses to store what becomes of it; once for each version of it.
  virtual void on_refused_write(const api::Evacuation&, const std::string& /*problem*/, base::TimePoint) {}
  /// Set: no Evacuation is admitted now, and why.
  virtual std::optional<api::Blocker> admission_blocker() const = 0;
};
/// Keeps nothing, blocks nobody.
Audit& no_audit();

}  // namespace controllers::evacuation
