#include "cmd/run/outlets.hpp"

#include <stop_token>
#include <utility>

#include "cmd/run/threads.hpp"

namespace cmd {

OutputSinks::OutputSinks(ProcessContext context, kube::Client& client)
    : context_(std::move(context)),
      recorder_(client, context_.clock, kube::EventOptions{.instance = context_.identity}, context_.log),
      notification_post_(context_.clock) {
  if (!context_.config.notifications.empty())
    notifier_.emplace(
        controllers::Notifier::Dependencies{
            .inner = recorder_,
            .clock = context_.clock,
            .steady = context_.steady,
            .metrics = context_.metrics,
            .log = context_.log,
            .instance = context_.identity,
            .post = [this](const auto& channel, const auto& body) { return notification_post_(channel, body); }},
        context_.config.notifications);
  const auto& tracing = context_.config.tracing;
  if (!tracing.is_on()) return;
  trace_post_.emplace(tracing, context_.clock);
  exporter_.emplace(
      controllers::SpanExporter::Dependencies{.steady = context_.steady,
                                              .metrics = context_.metrics,
                                              .log = context_.log,
                                              .resource = {.version = EVACUATOR_VERSION,
                                                           .ns = context_.config.leader_election.ns,
                                                           .instance = context_.identity},
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
