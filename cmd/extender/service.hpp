#pragma once

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "cmd/extender/config.hpp"
#include "cmd/extender/decision.hpp"
#include "cmd/extender/load_poller.hpp"
#include "http_server/server.hpp"

namespace cmd {

/// Answers kube-scheduler: POST /filter and /prioritize, as docs/extender.md describes them. Thread-safe; no call does
/// I/O or waits. What cannot be read is refused with 400, and the scheduler goes on without us (ignorable: true).
class ExtenderService {
 public:
  /// Where an Evacuation wants that pod; may be empty.
  using HintFor = std::function<std::optional<extending::PodHint>(const api::Pod& pod)>;

  /// All references must outlive it.
  ExtenderService(const extending::ExtenderConfig& config, extending::LoadPoller& keeper, HintFor hint_for,
                  const base::Clock& clock, base::Metrics& metrics, base::Log log);

  serving::Response answer(const serving::Request& request);

 private:
  serving::Response filter(const extending::ExtenderArgs& args);
  serving::Response prioritize(const extending::ExtenderArgs& args);
  std::optional<extending::PodHint> hint(const api::Pod& pod) const;
  serving::Response decide(const std::string& verb, const serving::Request& request);
  void count(const std::string& verb, const char* result);

  const extending::ExtenderConfig& config_;
  extending::LoadPoller& keeper_;
  const HintFor hint_for_;
  const base::Clock& clock_;
  base::Metrics& metrics_;
  const base::Log log_;
};

/// The server's limits: bodies as the configuration says, together at most four of the largest; short times, for the
/// scheduler waits for 200 ms.
serving::ServerOptions extender_server_options(const extending::ExtenderConfig& config);

}  // namespace cmd
