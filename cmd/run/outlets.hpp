#pragma once

#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/observability/notifications/http_post.hpp"
#include "controllers/observability/notifications/notifier.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "controllers/observability/tracing/otlp_post.hpp"
#include "controllers/operator/operator_config.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"

namespace cmd {

/// By which ways the operator tells what it does, each on a thread of its own: Events, notifications, traces.
class Outlets {
 public:
  struct Dependencies {
    const controllers::OperatorConfig& config;
    const std::string& identity;  ///< of this replica
    kube::Client& client;
    const base::Clock& clock;
    const base::Clock& steady;
    base::Metrics& metrics;
    base::Log log;
  };
  /// All references must outlive it. Nothing is sent before start().
  explicit Outlets(Dependencies dependencies);

  void start();
  /// Ends notifications and traces. What is told after this gets no further than Events.
  void stop_messages();
  /// Ends Events.
  void stop_events();

  /// Events of what the reconcilers do: also the source of notifications.
  kube::EventSink& events() { return notifier_ ? static_cast<kube::EventSink&>(*notifier_) : recorder_; }
  /// Events of which there are no notifications.
  kube::EventSink& plain_events() { return recorder_; }
  /// nullptr: nothing is traced.
  controllers::SpanSink* spans() { return exporter_ ? &*exporter_ : nullptr; }

 private:
  void make_notifier();
  void make_exporter();

  Dependencies deps_;
  kube::EventRecorder recorder_;
  controllers::HttpPost notification_post_;
  std::optional<controllers::Notifier> notifier_;  ///< only with channels
  std::optional<controllers::OtlpPost> trace_post_;
  std::optional<controllers::SpanExporter> exporter_;  ///< only with an endpoint
  std::jthread recording_;
  std::jthread notifying_;
  std::jthread tracing_;
};

}  // namespace cmd
