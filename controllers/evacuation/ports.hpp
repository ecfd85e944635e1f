#pragma once

/// Interfaces that the Evacuation controller needs besides kube::Client; implemented by the wiring.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "evictors/evictor.hpp"

namespace controllers::evacuation {

/// Identifies a call to a service.
struct ServiceCall {
  std::string service;  ///< empty for the API server
  std::string use;      ///< one of api::kServiceUses
  std::string ns;       ///< namespace of the Evacuation
};

/// HTTPS services that evictors call by name besides the API server (webhooks, Patroni). Endpoints and credentials come
/// from the operator's configuration, never from an object. Thread-safe; each call has a timeout.
class ServiceCaller {
 public:
  virtual ~ServiceCaller() = default;
  /// Returns why the operator's configuration forbids this call, naming service, namespace and field. Empty if the call
  /// is allowed or the service does not exist.
  virtual std::string refusal(const ServiceCall& call) const = 0;
  /// Returns kInvalid if the service does not exist or refusal() is not empty.
  virtual evictors::CallResult send(const ServiceCall& call, const kube::Request& request) = 0;
  virtual const std::vector<std::string>& names() const = 0;
};

/// Metrics of the Evacuation controller. Labels never contain pod names. Thread-safe.
class Metrics {
 public:
  virtual ~Metrics() = default;
  /// Reports a stored status change; phases, durations, results, blocked time and aborts are derived from both states.
  virtual void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) = 0;
  /// Reports the answer to a call; `code` is 0 if there was none.
  virtual void on_answer(std::string_view action, int code, std::string_view response_class) = 0;
  /// Reports that the server refuses to store an Evacuation, once per version of it.
  virtual void on_refused_write() {}
};

/// Audit log as used by the Evacuation controller. Never fails; blocks at most for one write. Thread-safe. This base
/// class records nothing and never blocks admission.
class Audit {
 public:
  virtual ~Audit() = default;
  /// Reports a stored status change; transitions, intents, cancels, blockers and verdicts are derived from both states.
  virtual void on_status(const api::Evacuation& /*before*/, const api::Evacuation& /*after*/, base::TimePoint) {}
  /// Reports the answer to a mutating call under the current token, and the evictor's interpretation of it.
  virtual void on_answer(const api::Evacuation&, const evictors::Action&, const evictors::CallResult&,
                         const std::optional<api::LastResponse>& /*meaning*/, base::TimePoint) {}
  /// Returns the traceparent header of the call that is about to be sent at the given time, empty if it is not traced.
  virtual std::string context_of_call(const api::Evacuation&, const evictors::Action&, base::TimePoint) const {
    return {};
  }
  /// Reports that the server refuses to store an Evacuation, once per version of it.
  virtual void on_refused_write(const api::Evacuation&, const std::string& /*problem*/, base::TimePoint) {}
  /// Returns the reason if no Evacuation may be admitted now.
  virtual std::optional<api::Blocker> admission_blocker() const { return std::nullopt; }
};
inline Audit& no_audit() {
  static Audit none;
  return none;
}

}  // namespace controllers::evacuation
