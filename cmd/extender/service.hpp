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
  using HintFor = std::function<std::optional<extender::PodHint>(const api::Pod& pod)>;

  /// All references must outlive this object.
  ExtenderService(const extender::ExtenderConfig& config, extender::LoadPoller& keeper, HintFor hint_for,
                  const base::Clock& clock, base::Metrics& metrics, base::Log log);

  http_server::Response answer(const http_server::Request& request);

 private:
  http_server::Response filter(const extender::ExtenderArgs& args);
  http_server::Response prioritize(const extender::ExtenderArgs& args);
  std::optional<extender::PodHint> hint(const api::Pod& pod) const;
  http_server::Response decide(const std::string& verb, const http_server::Request& request);
  void count(const std::string& verb, const char* result);

  const extender::ExtenderConfig& config_;
  extender::LoadPoller& poller_;
  const HintFor hint_for_;
  const base::Clock& clock_;
  base::Metrics& metrics_;
  const base::Log log_;
};

/// Server limits: bodies up to the configured size, in total at most four bodies of maximum size, and short timeouts,
/// because the scheduler waits only 200 ms.
http_server::ServerOptions extender_server_options(const extender::ExtenderConfig& config);

}  // namespace cmd
