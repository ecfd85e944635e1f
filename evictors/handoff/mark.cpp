#include "evictors/handoff/mark.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "base/text.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/pod_patch.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kSetMark = "SetMark";
constexpr std::string_view kRemoveMark = "RemoveMark";
constexpr std::string_view kMarkRef = "mark";               ///< ours | foreign
constexpr std::string_view kLetThroughRef = "letThrough";   ///< time of the first eviction that the webhook let through
constexpr std::string_view kMarkWasAbsent = "mark=absent";  ///< in intent.preState
constexpr std::size_t kShownValue = 64;
/// A resourceVersion that no pod has. The webhook answers before the API server compares the version. An eviction that
/// the webhook lets through therefore fails with 409 and does not end the pod without its operator.
constexpr std::string_view kNoVersion = "0";

constexpr std::string_view kBypass = "the operator's webhook did not accept the eviction";
constexpr std::size_t kMaxRefusal = 512;

/// A restarting webhook, or one that fails open, lets single calls through. If calls pass for longer than this, the
/// webhook is considered misconfigured.
constexpr base::seconds kLetThroughFor{30};

class MarkAdapter final : public Adapter {
 public:
  explicit MarkAdapter(OwnerMark mark) : mark_(mark) {}

  std::string_view name() const override { return mark_.adapter; }
  bool recognises(const api::Pod& pod) const override { return mark_.recognises(pod); }

  Probe probe(const EvictorContext& context) const override { return owner_probe(context, name(), mark_.total); }

  EvictionStep plan(const EvictorContext& context) const override {
    const EvacuationPhase phase = context.phase();
    if (phase == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
    if (phase == EvacuationPhase::kInProgress || present(context) || taken_over(context)) return {NextMove::kWait, {}};
    const bool by_eviction = mark_.by_eviction && context.parameter(kRequestParameter, "annotation") == "eviction";
    return act_now(by_eviction ? ask_by_eviction(context) : ask_by_mark(context));
  }

  Observation observe(const EvictorContext& context) const override {
    Observation seen;
    seen.requested = seen.acknowledged = present(context);
    if (seen.requested) return seen;
    const EvacuationPhase phase = context.phase();
    seen.vanished = phase == EvacuationPhase::kInProgress;
    const std::string& other = value(context);
    const bool asking = phase == EvacuationPhase::kPreparing || phase == EvacuationPhase::kRequesting;
    if (asking && was_let_through(context)) {
      seen.failed =
          RemoteFailure{"WebhookLetsThrough",
                        fmt::format("the operator's webhook does not accept evictions of this pod (Strimzi: "
                                    "strimzi.deny.eviction=false, or a namespace filter): use parameter {}: annotation",
                                    kRequestParameter),
                        false, false, api::Reason::kNotEvictable};
    }
    if (!other.empty() && asking) {
      seen.failed = RemoteFailure{"MarkInUse",
                                  fmt::format("annotation {} has the value \"{}\" of another requester",
                                              mark_.annotation, base::truncate_utf8(other, kShownValue)),
                                  true};
    }
    return seen;
  }

  Classification classify(const EvictorContext& context, const Action& action,
                          const CallResult& answer) const override {
    if (action.name != kPostEviction) return classify_pod_patch(answer);
    Classification meaning = classify_eviction(answer, mark_.accepted);
    if (meaning.answer == ResponseClass::kConflict) return let_through(context, std::move(meaning));
    if (answer && answer->status == 429 && !context.ref(kLetThroughRef).empty()) explain_bypass(meaning);
    if (meaning.answer == ResponseClass::kAcceptedInBackground && context.ref(kMarkRef).empty()) {
      const bool was_absent = action.pre_state.find(kMarkWasAbsent) != std::string::npos;
      meaning.refs.emplace_back(kMarkRef, was_absent ? "ours" : "foreign");
    }
    return meaning;
  }

  bool needs_capacity(const EvictorContext&) const override { return mark_.surge_pod; }
  std::vector<Action> undo(const EvictorContext& context) const override {
    if (!present(context) || !owned(context)) return {};
    return {remove(context, ActionRole::kUndo)};
  }

  Rollback undone(const EvictorContext& context) const override {
    if (present(context)) return owned(context) ? Rollback::kPending : Rollback::kNothingToDo;
    return context.evacuation.status.request_sent_at ? Rollback::kComplete : Rollback::kNothingToDo;
  }

  std::vector<Action> cleanup(const EvictorContext& context) const override {
    if (!has_our_token(context) && !(present(context) && owned(context))) return {};
    return {remove(context, ActionRole::kCleanUp)};
  }

 private:
  const std::string& value(const EvictorContext& context) const {
    return context.pod->meta.annotations.value(mark_.annotation);
  }
  bool present(const EvictorContext& context) const { return value(context) == mark_.value; }

  bool has_our_token(const EvictorContext& context) const {
    return is_our_token(context, context.pod->meta.annotations.value(api::well_known::kTokenAnnotation));
  }

  /// Returns true if the webhook took over the last eviction call.
  bool taken_over(const EvictorContext& context) const {
    const api::EvacuationIntent* intent = context.intent();
    return intent && intent->result == to_string(ResponseClass::kAcceptedInBackground);
  }

  /// Returns kRetryLater until kLetThroughFor has passed since the first such call, then the conflict.
  static Classification let_through(const EvictorContext& context, Classification meaning) {
    const auto first = base::parse_time(context.ref(kLetThroughRef));
    const bool is_known = first && *first <= context.now;
    const base::Duration left = is_known ? *first + kLetThroughFor - context.now : base::Duration(kLetThroughFor);
    if (left <= base::Duration::zero()) return meaning;
    meaning.answer = ResponseClass::kRetryLater;
    meaning.retry_after = left;  // some servers charge a budget before they compare versions
    meaning.message = std::string(kBypass);
    if (!is_known) meaning.refs.emplace_back(kLetThroughRef, base::format_time(context.now));
    return meaning;
  }

  /// Names the missing webhook in the refusal. A budget only refuses evictions that the webhook has let through, so
  /// waiting for the budget would not help.
  static void explain_bypass(Classification& meaning) {
    if (meaning.answer == ResponseClass::kAcceptedInBackground) return;
    meaning.message = base::truncate_utf8(fmt::format("{}: {}", kBypass, meaning.message), kMaxRefusal);
    if (meaning.blocker) meaning.blocker->message = meaning.message;
  }

  /// Returns true if the last eviction call reached the API server and the webhook left no mark.
  bool was_let_through(const EvictorContext& context) const {
    const api::EvacuationIntent* intent = context.intent(kPostEviction);
    return intent && intent->result == to_string(ResponseClass::kConflict);
  }

  /// Returns true if Evacuator caused the mark: the pod also has the token, or the mark was absent before the eviction
  /// call.
  bool owned(const EvictorContext& context) const {
    if (has_our_token(context) || context.ref(kMarkRef) == "ours") return true;
    if (!context.ref(kMarkRef).empty()) return false;
    const api::EvacuationIntent* intent = context.intent(kPostEviction);
    return intent && intent->pre_state.find(kMarkWasAbsent) != std::string::npos;
  }

  Action ask_by_mark(const EvictorContext& context) const {
    return patch_pod_annotations(
        context, ActionRole::kRequest, kSetMark,
        {{mark_.annotation, mark_.value}, {api::well_known::kTokenAnnotation, context.token()}});
  }

  Action ask_by_eviction(const EvictorContext& context) const {
    Action action = post_eviction(context, std::string(kNoVersion));
    action.pre_state += fmt::format(",{}", kMarkWasAbsent);
    return action;
  }

  Action remove(const EvictorContext& context, ActionRole role) const {
    api::Json annotations = api::Json::object();
    if (present(context) && owned(context)) annotations[std::string(mark_.annotation)] = nullptr;
    if (has_our_token(context)) annotations[std::string(api::well_known::kTokenAnnotation)] = nullptr;
    return patch_pod_annotations(context, role, kRemoveMark, std::move(annotations));
  }

  const OwnerMark mark_;
};

}  // namespace

std::unique_ptr<Adapter> mark_adapter(OwnerMark mark) { return std::make_unique<MarkAdapter>(mark); }

}  // namespace evictors::handoff
