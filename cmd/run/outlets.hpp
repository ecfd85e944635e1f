#pragma once

#include <optional>
#include <thread>

#include "cmd/run/context.hpp"
#include "controllers/observability/notifications/notifier.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"

namespace cmd {

/// Outputs of the operator, each on its own thread: Events, notifications, traces.
class OutputSinks {
 public:
  /// `client` must outlive this object. Nothing is sent before start().
  OutputSinks(ProcessContext context, kube::Client& client);

  void start();
  /// Stops notifications and traces. Later Events are still recorded, but not sent as notifications.
  void stop_messages();
  void stop_events();

  /// Sink for Events of the reconcilers, which can also trigger notifications.
  kube::EventSink& events() { return notifier_ ? static_cast<kube::EventSink&>(*notifier_) : recorder_; }
  /// Sink for Events that never trigger notifications.
  kube::EventSink& plain_events() { return recorder_; }
  /// Returns nullptr if tracing is disabled.
  controllers::SpanSink* spans() { return exporter_ ? &*exporter_ : nullptr; }

 private:
  ProcessContext context_;
  kube::EventRecorder recorder_;
  controllers::HttpPost notification_post_;
  std::optional<controllers::Notifier> notifier_;  ///< set if channels are configured
  std::optional<controllers::OtlpPost> trace_post_;
  std::optional<controllers::SpanExporter> exporter_;  ///< set if an endpoint is configured
  std::jthread recording_;
  std::jthread notifying_;
  std::jthread tracing_;
};

}  // namespace cmd
