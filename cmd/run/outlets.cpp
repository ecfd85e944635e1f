#include "cmd/run/outlets.hpp"

#include <stop_token>
#include <utility>

#include "cmd/run/threads.hpp"

namespace cmd {

OutputSinks::OutputSinks(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      recorder_(deps_.client, deps_.clock, kube::EventOptions{.instance = deps_.identity}, deps_.log),
      notification_post_(deps_.clock) {
  make_notifier();
  make_exporter();
}

void OutputSinks::make_notifier() {
  if (deps_.config.notifications.empty()) return;
  notifier_.emplace(
      controllers::Notifier::Dependencies{
          .inner = recorder_,
          .clock = deps_.clock,
          .steady = deps_.steady,
          .metrics = deps_.metrics,
          .log = deps_.log,
          .instance = deps_.identity,
          .post = [this](const auto& channel, const auto& body) { return notification_post_(channel, body); }},
      deps_.config.notifications);
}

void OutputSinks::make_exporter() {
  const auto& tracing = deps_.config.tracing;
  if (!tracing.is_on()) return;
  trace_post_.emplace(tracing, deps_.clock);
  exporter_.emplace(controllers::SpanExporter::Dependencies{
      .steady = deps_.steady,
      .metrics = deps_.metrics,
      .log = deps_.log,
      .resource = {.version = EVACUATOR_VERSION, .ns = deps_.config.leader_election.ns, .instance = deps_.identity},
      .post = [this](const std::string& body) { return (*trace_post_)(body); },
      .sampling_percent = tracing.sampling_percent});
}

void OutputSinks::start() {
  recording_ = std::jthread([this](std::stop_token stop) { recorder_.run(std::move(stop)); });
  if (notifier_) notifying_ = std::jthread([this](std::stop_token stop) { notifier_->run(std::move(stop)); });
  if (exporter_) tracing_ = std::jthread([this](std::stop_token stop) { exporter_->run(std::move(stop)); });
}

void OutputSinks::stop_messages() {
  stop_and_join(notifying_);
  stop_and_join(tracing_);
}

void OutputSinks::stop_events() { stop_and_join(recording_); }

}  // namespace cmd
