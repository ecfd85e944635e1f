#pragma once

#include "controllers/evacuation/ports.hpp"
#include "controllers/event_publisher.hpp"

namespace kube {
class EventRecorder;
}

namespace controllers {

/// Both reconcilers' notes, recorded as Events of the API server.
class RecordedEvents final : public EventSink, public EventPublisher {
 public:
  /// `recorder` must outlive it.
  explicit RecordedEvents(kube::EventRecorder& recorder) : recorder_(recorder) {}

  void publish(const api::Evacuation& regarding, const EventNote& note) override;
  void publish(PublishedEvent event) override;

 private:
  kube::EventRecorder& recorder_;
};

}  // namespace controllers
