#include "controllers/policy/cycle/evacuation_creator.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/policy/once_run.hpp"
#include "controllers/policy/waves.hpp"
#include "kube/classify.hpp"
#include "kube/runtime/worker.hpp"
#include "planner/plan/evacuating_pods.hpp"

namespace controllers {
namespace {

using base::kv;

/// Backoff after a 429.
constexpr base::Backoff kThrottled{base::milliseconds(500), base::seconds(10)};
/// Maximum time per cycle that creators wait because of 429s, on average per creator, because other policies are
/// blocked meanwhile. After that the rest of a refused namespace is left to the next cycle.
constexpr base::seconds kMaxPaused{30};

}  // namespace

void EvacuationCreator::create(const api::DeschedulerPolicy& policy, CycleOutcome& outcome) {
  const auto keys = ports_.keys.keys();
  if (!keys && !outcome.moves.empty()) {
    outcome.problems.push_back("no Evacuations are created: an unsigned Evacuation would be treated as manual; " +
                               ports_.keys.problem());
    return;
  }
  if (!outcome.moves.empty()) create_all(policy, keys->current, outcome);
  if (!clock_warning_.empty()) outcome.warnings.insert(outcome.warnings.begin(), clock_warning_);
}

/// Creates in the order of the plan, except for the few that run concurrently.
void EvacuationCreator::create_all(const api::DeschedulerPolicy& policy, const crypto::Key& key,
                                   CycleOutcome& outcome) {
  const auto made_now = static_cast<std::size_t>(std::ranges::count_if(outcome.moves, is_made_now));
  std::atomic<std::size_t> next = 0;
  paused_ = {};
  const auto is_refused = [&](const std::string& ns) {  // other namespaces are not affected
    const std::lock_guard lock(creating_);
    return outcome.refusing.contains(ns);
  };
  const auto create = [&] {
    for (std::size_t i = next++; i < outcome.moves.size(); i = next++) {
      const api::PlannedMove& move = outcome.moves[i];
      if (!is_made_now(move) || is_refused(move.ns)) continue;
      if (!may_go_on_(policy) || !create_one(policy, move, evacuation_for(policy, move, made_now), key, outcome))
        next = outcome.moves.size();
      progress_();
    }
  };
  const auto others = std::min(static_cast<std::size_t>(creators_), outcome.moves.size()) - 1;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < others; ++i) threads.emplace_back(create);
  create();
}

/// Returns false if further creations are pointless: the server is unavailable or refuses them.
bool EvacuationCreator::create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                   const api::Evacuation& evacuation, const crypto::Key& key, CycleOutcome& outcome) {
  const api::ObjectKey name = evacuation.meta.key();
  if (const auto expired = ports_.caches.evacuations.get(name); expired && planner::never_began(*expired))
    static_cast<void>(ports_.client.remove(kube::kEvacuations, name, expired->meta.uid));
  base::TimePoint sent;
  api::Evacuation wanted;
  base::Result<std::string> made = base::unavailable("not sent");
  int tries = 0;
  do {
    sent = ports_.clocks.wall.now();
    wanted = with_origin(evacuation, key, sent);  // sign again, because a signature expires quickly
    made = ports_.client.create(kube::kEvacuations, move.ns, api::encode_evacuation(wanted));
  } while (!made && waits_after_throttling(policy, made.error(), ++tries));
  ports_.audit.on_created(policy, move, wanted, made ? nullptr : &made.error());
  if (made) {
    traces_.link(policy.meta.name, *made);
    ports_.log.info("evacuation created",
                    {kv("policy", policy.meta.name), kv("evacuation", wanted.meta.key().to_string()),
                     kv("node", move.from), kv("strategy", move.strategy)});
  }
  return note_created(wanted, made, sent, outcome);
}

/// After a 429, waits for the time that the server asks for and returns whether to retry. Other creators continue.
bool EvacuationCreator::waits_after_throttling(const api::DeschedulerPolicy& policy, const base::Error& error,
                                               int tries) {
  if (error.code != base::ErrorCode::kThrottled) return false;
  const base::Duration asked =
      std::min<base::Duration>(error.retry_after.value_or(base::Duration::zero()), kube::kMaxRetryAfter);
  const base::Duration pause = std::max(asked, base::backoff_delay(kThrottled, tries));
  {
    const std::lock_guard lock(creating_);
    if (paused_ + pause > kMaxPaused * creators_) return false;
    paused_ += pause;
  }
  if (pause_ && !pause_(pause)) return false;
  progress_();
  return may_go_on_(policy);
}

bool EvacuationCreator::note_created(const api::Evacuation& wanted, const base::Result<std::string>& made,
                                     base::TimePoint sent, CycleOutcome& outcome) {
  const std::lock_guard lock(creating_);
  if (made) {
    ++outcome.summary.created;
    if (ports_.steering.once) ports_.steering.once->on_created(wanted.meta.key());
    return clocks_agree(sent, *made, outcome);
  }
  const base::Error& error = made.error();
  // The name is deterministic, so this pod already has an Evacuation.
  if (error.code == base::ErrorCode::kAlreadyExists) {
    ++outcome.existing;
    return true;
  }
  outcome.problems.push_back(error.during("creating Evacuation " + wanted.meta.key().to_string()).message);
  // A full quota, a namespace being deleted, or an overloaded webhook concerns one namespace only.
  const bool is_of_namespace = error.code == base::ErrorCode::kThrottled ||
                               (error.code == base::ErrorCode::kForbidden && !kube::is_right_missing(error));
  if (is_of_namespace) {
    outcome.refusing.insert(wanted.meta.ns);
    return true;
  }
  return error.code == base::ErrorCode::kInvalid || error.code == base::ErrorCode::kNotFound;
}

/// Records the clock skew shown by the newest object. Returns false if the skew makes signatures invalid.
bool EvacuationCreator::clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome) {
  const base::Duration skew = clock_skew(sent, ports_.clocks.wall.now(), made);
  std::string warning = clock_skew_warning(skew);
  if (!warning.empty() && clock_warning_.empty()) ports_.log.warning("clocks differ", {kv("problem", warning)});
  clock_warning_ = std::move(warning);
  if (std::chrono::abs(skew) <= kOriginWindow) return true;
  outcome.problems.push_back("no more Evacuations are created: " + clock_warning_);
  return false;
}

}  // namespace controllers
