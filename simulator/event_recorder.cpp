#include "simulator/event_recorder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr std::size_t kMaxEvents = 2'000;
constexpr std::size_t kMaxNote = 1'024;  // maximum length in events.k8s.io/v1

Json regarding(const Json& about) {
  Json reference = {{"apiVersion", api::text_at(about, {"apiVersion"})},
                    {"kind", api::text_at(about, {"kind"})},
                    {"name", api::text_at(about, {"metadata", "name"})},
                    {"uid", uid_of(about)},
                    {"resourceVersion", api::text_at(about, {"metadata", "resourceVersion"})}};
  if (const std::string ns = api::text_at(about, {"metadata", "namespace"}); !ns.empty()) reference["namespace"] = ns;
  return reference;
}

}  // namespace

void EventRecorder::record(std::string_view component, const Json& about, std::string_view type,
                           std::string_view reason, std::string_view note) {
  if (!enabled_) return;
  const std::string text(note.substr(0, kMaxNote));
  const Identity identity{uid_of(about), std::string(reason), text};
  if (count_up(identity)) return;

  const std::string ns = api::text_at(about, {"metadata", "namespace"});
  const base::TimePoint now = store_.clock().now();
  Json event = {{"metadata",
                 {{"namespace", ns.empty() ? "default" : ns},
                  {"name", fmt::format("{}.{}{}", api::text_at(about, {"metadata", "name"}), store_.new_suffix(),
                                       store_.new_suffix())}}},
                {"eventTime", base::format_micro_time(now)},
                {"reportingController", component},
                {"reportingInstance", "simulator"},
                {"action", reason},
                {"reason", reason},
                {"type", type},
                {"note", text},
                {"regarding", regarding(about)},
                {"deprecatedSource", {{"component", component}}},
                {"deprecatedFirstTimestamp", base::format_time(now)},
                {"deprecatedLastTimestamp", base::format_time(now)},
                {"deprecatedCount", 1}};
  const auto created = store_.create(kube::kEvents, std::move(event));
  if (!created) return;  // Events are best effort
  known_[identity] = key_of(**created);
  order_.push_back(identity);
  if (order_.size() > kMaxEvents) forget_oldest();
}

bool EventRecorder::count_up(const Identity& identity) {
  const auto found = known_.find(identity);
  if (found == known_.end()) return false;
  const base::TimePoint now = store_.clock().now();
  const auto counted = store_.edit(kube::kEvents, found->second, Part::kAll, "", [&](Json& event) {
    event["deprecatedCount"] = api::number_at(event, {"deprecatedCount"}).value_or(0) + 1;
    event["deprecatedLastTimestamp"] = base::format_time(now);
    event["series"] = {{"count", event["deprecatedCount"]}, {"lastObservedTime", base::format_micro_time(now)}};
  });
  return counted != nullptr;
}

void EventRecorder::forget_oldest() {
  const auto found = known_.find(order_.front());
  if (found != known_.end()) {
    (void)store_.remove(kube::kEvents, found->second);
    known_.erase(found);
  }
  order_.pop_front();
}

}  // namespace simulator
