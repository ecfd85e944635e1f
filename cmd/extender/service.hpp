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

/// Handles kube-scheduler's requests POST /filter and /prioritize (docs/extender.md). Thread-safe; calls neither
/// perform I/O nor block. Invalid requests are rejected with 400, and the scheduler proceeds without the extender
/// (ignorable: true).
class ExtenderService {
 public:
  /// Returns the placement hint of an Evacuation for the pod. May be empty.
  using HintFor = std::function<std::optional<extending::PodHint>(const api::Pod& pod)>;

  /// All references must outlive this object.
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

/// Server limits: bodies up to the configured size, in total at most four bodies of maximum size, and short timeouts,
/// because the scheduler waits only 200 ms.
serving::ServerOptions extender_server_options(const extending::ExtenderConfig& config);

}  // namespace cmd
