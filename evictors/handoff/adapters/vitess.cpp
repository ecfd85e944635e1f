#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/pod_patch.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kSupported = "drain.planetscale.com/supported";
constexpr std::string_view kStarted = "drain.planetscale.com/started";
constexpr std::string_view kAcknowledged = "drain.planetscale.com/acknowledged";
constexpr std::string_view kFinished = "drain.planetscale.com/finished";
constexpr base::seconds kVitessTotal{1800};
constexpr std::size_t kMaxVitessSign = 128;

class VitessAdapter final : public Adapter {
 public:
  std::string_view name() const override { return "vitess"; }
  bool recognises(const api::Pod& pod) const override { return pod.meta.annotations.contains(kSupported); }
  Probe probe(const EvictorContext& context) const override { return owner_probe(context, name(), kVitessTotal); }

  EvictionStep plan(const EvictorContext& context) const override {
    if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
    if (!has(context, kStarted)) {
      // `started` was removed during the drain, which observe() reports.
      if (context.phase() == EvacuationPhase::kInProgress) return {NextMove::kWait, {}};
      return act_now(start(context));
    }
    if (has(context, kFinished)) return evict_now(context);
    return {NextMove::kWait, {}};
  }

  Observation observe(const EvictorContext& context) const override {
    Observation seen;
    seen.requested = has(context, kStarted);
    seen.vanished = !seen.requested && context.phase() == EvacuationPhase::kInProgress;
    if (!seen.requested) {
      if (!seen.vanished) seen.failed = leftover(context);
      return seen;
    }
    seen.acknowledged = has(context, kAcknowledged);
    seen.ready = has(context, kFinished);
    seen.alive = fmt::format("{}|{}", sign(context, kAcknowledged), sign(context, kFinished));
    return seen;
  }

  Classification classify(const EvictorContext&, const Action& action, const CallResult& answer) const override {
    return action.name == kPostEviction ? classify_eviction(answer) : classify_pod_patch(answer);
  }

  std::vector<Action> undo(const EvictorContext& context) const override { return stop(context, ActionRole::kUndo); }

  /// Complete once the operator has removed its own two annotations.
  Rollback undone(const EvictorContext& context) const override {
    if (ours(context)) return Rollback::kPending;
    const bool asked = context.evacuation.status.request_sent_at.has_value();
    if (has(context, kStarted) || !asked) return Rollback::kNothingToDo;
    const bool still_draining = has(context, kAcknowledged) || has(context, kFinished);
    return still_draining ? Rollback::kPending : Rollback::kComplete;
  }

  std::vector<Action> cleanup(const EvictorContext& context) const override {
    return stop(context, ActionRole::kCleanUp);
  }

 private:
  static bool has(const EvictorContext& context, std::string_view key) {
    return context.pod->meta.annotations.contains(key);
  }
  static std::string sign(const EvictorContext& context, std::string_view key) {
    const std::string& value = context.pod->meta.annotations.value(key);
    return value.size() <= kMaxVitessSign ? value : fmt::format("({} bytes)", value.size());
  }
  /// Annotations left by an older drain would be mistaken for the answer to the new one.
  static std::optional<RemoteFailure> leftover(const EvictorContext& context) {
    if (!has(context, kAcknowledged) && !has(context, kFinished)) return std::nullopt;
    return RemoteFailure{"FormerDrainNotCleared",
                         fmt::format("{} or {} remains from an earlier drain", kAcknowledged, kFinished), true};
  }
  static bool ours(const EvictorContext& context) {
    return is_our_token(context, context.pod->meta.annotations.value(kStarted));
  }
  static std::vector<Action> stop(const EvictorContext& context, ActionRole role) {
    if (!ours(context)) return {};
    return {patch_pod_annotations(context, role, "AbortDrain", {{kStarted, nullptr}})};
  }
  static Action start(const EvictorContext& context) {
    const std::string reason = fmt::format("{} {}", context.token(), handoff_reason(context.evacuation.spec));
    return patch_pod_annotations(context, ActionRole::kRequest, "StartDrain", {{kStarted, reason}});
  }
};

}  // namespace

std::unique_ptr<Adapter> vitess_adapter() { return std::make_unique<VitessAdapter>(); }

}  // namespace evictors::handoff
