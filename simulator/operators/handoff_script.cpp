#include "simulator/operators/handoff_script.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

namespace names = api::well_known;

struct TimeWord {
  std::string_view word;
  std::optional<base::Duration> HandoffScript::*field;
};
constexpr TimeWord kTimeWords[] = {
    {"ack", &HandoffScript::ack},
    {"pre-done", &HandoffScript::pre_done},
    {"progress", &HandoffScript::progress},
    {"heartbeat", &HandoffScript::heartbeat},
    {"ready", &HandoffScript::ready},
    {"revoke", &HandoffScript::revoke},
    {"failed", &HandoffScript::failed},
    {"aborted", &HandoffScript::aborted},
    {"owner-deletes", &HandoffScript::owner_deletes},
};

struct FlagWord {
  std::string_view word;
  bool HandoffScript::*field;
};
constexpr FlagWord kFlagWords[] = {
    {"stale-token", &HandoffScript::stale_token},
    {"answers-after-abort", &HandoffScript::answers_after_abort},
    {"unchanged-heartbeat", &HandoffScript::unchanged_heartbeat},
};

base::Status read_time(HandoffScript& script, const TimeWord& known, std::string_view value) {
  const auto [time, rest] = split_pair(value, ':');
  const auto parsed = behaviour::parse_duration(time);
  if (!parsed) return base::invalid(fmt::format("{}: \"{}\" is no duration, such as 2s or 1m30s", known.word, time));
  script.*known.field = parsed;
  if (known.word != "failed" || rest.empty()) return base::Done{};
  const auto [reason, message] = split_pair(rest, ':');
  script.fail_reason = reason;
  script.fail_message = message;
  return base::Done{};
}

base::Status read_word(HandoffScript& script, std::string_view entry) {
  const auto [word, value] = split_pair(entry, '=');
  for (const TimeWord& known : kTimeWords) {
    if (word == known.word) return read_time(script, known, value);
  }
  for (const FlagWord& known : kFlagWords) {
    if (word != known.word) continue;
    script.*known.field = true;
    return base::Done{};
  }
  if (word == "silent-after") {
    script.silent_after = value;
    return base::Done{};
  }
  if (word == "skew") {
    const auto skew = base::parse_duration(value);
    if (!skew) return base::invalid(fmt::format("skew: \"{}\" is no duration, such as -10m", value));
    script.clock_skew = *skew;
    return base::Done{};
  }
  return base::invalid(fmt::format("\"{}\" is no word of a handoff script", word));
}

/// Returns the token of the previous attempt; tokens are "<uid>.<attempt>".
std::string former_token(const std::string& token) {
  const auto dot = token.rfind('.');
  int attempt = 0;
  if (dot != std::string::npos) std::from_chars(token.data() + dot + 1, token.data() + token.size(), attempt);
  return fmt::format("{}.{}", token.substr(0, dot), std::max(0, attempt - 1));
}

/// One step: collects responses until the script's crash.
class Turn {
 public:
  Turn(const HandoffScript& script, HandoffMemory& memory, base::TimePoint now, HandoffStep& step)
      : script_(script),
        memory_(memory),
        now_(now),
        step_(step),
        token_(script.stale_token ? former_token(memory.token) : memory.token) {}

  /// Returns true if the response is due and has not been given yet. Otherwise schedules the step for a later time.
  bool last_admission_of(const std::string& answer, std::optional<base::Duration> after,
                         std::optional<base::TimePoint> since) {
    if (!after || !since || memory_.silent || memory_.given.contains(answer)) return false;
    if (*since + *after > now_) return later(*since + *after);
    return true;
  }
  bool period_of(std::optional<base::Duration> period, std::optional<base::TimePoint> last, base::TimePoint since) {
    if (!period || memory_.silent) return false;
    const base::TimePoint next = last.value_or(since) + std::max<base::Duration>(*period, base::milliseconds(10));
    return next > now_ ? later(next) : true;
  }
  void give(const std::string& answer, std::string_view key, std::string value) {
    step_.annotations.emplace_back(std::string(key), std::move(value));
    memory_.given.insert(answer);
    count(answer);
  }
  void withdraw(std::string_view key) { step_.annotations.emplace_back(std::string(key), std::nullopt); }
  void count(const std::string& answer) {
    ++memory_.answers;
    if (script_.silent_after == answer || script_.silent_after == std::to_string(memory_.answers))
      memory_.silent = true;
  }
  bool later(base::TimePoint when) {
    step_.due = step_.due ? std::min(*step_.due, when) : when;
    return false;
  }
  std::string stamp() const { return token_ + "@" + base::format_time(now_ + script_.clock_skew); }
  const std::string& token() const { return token_; }

 private:
  const HandoffScript& script_;
  HandoffMemory& memory_;
  base::TimePoint now_;
  HandoffStep& step_;
  std::string token_;
};

/// Sends ack, then periodic heartbeats.
void show_life(const HandoffScript& script, HandoffMemory& memory, base::TimePoint now, Turn& turn) {
  if (turn.last_admission_of("ack", script.ack, memory.seen_at)) turn.give("ack", names::kHandoffAck, turn.stamp());
  if (!memory.given.contains("ack")) return;
  if (!turn.period_of(script.heartbeat, memory.last_heartbeat, memory.seen_at)) return;
  memory.last_heartbeat = now;
  if (memory.heartbeat_value.empty() || !script.unchanged_heartbeat) memory.heartbeat_value = turn.stamp();
  turn.give("heartbeat", names::kHandoffHeartbeat, memory.heartbeat_value);
  turn.later(now + std::max<base::Duration>(*script.heartbeat, base::milliseconds(10)));
}

void show_progress(const HandoffScript& script, HandoffMemory& memory, base::TimePoint now, HandoffStep& step,
                   Turn& turn) {
  if (memory.given.contains("ready") || memory.given.contains("failed")) return;
  if (!turn.period_of(script.progress, memory.last_progress, *memory.migrate_since)) return;
  memory.last_progress = now;
  ++memory.steps;
  std::int64_t percent = std::min(100, memory.steps * 10);
  if (script.ready && script.ready->count() > 0) {
    percent = std::clamp<std::int64_t>((now - *memory.migrate_since).count() * 100 / script.ready->count(), 0, 100);
    const auto end = *memory.migrate_since + *script.ready + script.clock_skew;
    step.annotations.emplace_back(names::kHandoffExpectedCompletion, turn.token() + "@" + base::format_time(end));
  }
  turn.give("progress", names::kHandoffProgress, fmt::format("{}@{}", turn.token(), percent));
  if (percent < 100) turn.later(now + std::max<base::Duration>(*script.progress, base::milliseconds(10)));
}

void migrate(const HandoffScript& script, HandoffMemory& memory, base::TimePoint now, HandoffStep& step, Turn& turn) {
  if (!memory.given.contains("ack") || !memory.migrate_since) return;
  show_progress(script, memory, now, step, turn);
  if (turn.last_admission_of("failed", script.failed, memory.migrate_since)) {
    turn.give("failed", names::kHandoffFailed,
              fmt::format("{}:{}:{}", turn.token(), script.fail_reason, script.fail_message));
  }
  if (turn.last_admission_of("ready", script.ready, memory.migrate_since)) {
    memory.ready_at = now;
    if (script.progress) step.annotations.emplace_back(names::kHandoffProgress, turn.token() + "@100");
    turn.give("ready", names::kHandoffReadyToEvict, turn.token());
  }
  if (turn.last_admission_of("revoked", script.revoke, memory.ready_at)) {
    turn.withdraw(names::kHandoffReadyToEvict);
    memory.given.insert("revoked");
    turn.count("revoked");
  }
  if (turn.last_admission_of("deleted", script.owner_deletes, memory.migrate_since)) {
    step.delete_pod = true;
    memory.given.insert("deleted");
    turn.count("deleted");
  }
}

}  // namespace

base::Result<HandoffScript> HandoffScript::parse(std::string_view text) {
  HandoffScript script;
  for (const std::string_view entry : split(text, ',')) {
    if (auto read = read_word(script, entry); !read) return std::move(read).error().during("handoff script");
  }
  return script;
}

HandoffStep handoff_decide(const HandoffScript& script, const api::StringMap& annotations, HandoffMemory& memory,
                           base::TimePoint now) {
  HandoffStep step;
  const std::string& token = annotations.value(names::kHandoffRequest);
  if (token != memory.token) {
    memory = {};
    memory.token = token;
    memory.seen_at = now;
  }
  if (token.empty()) return step;
  if (!memory.migrate_since && annotations.value(names::kHandoffRequestPhase) != "pre") memory.migrate_since = now;
  if (!memory.abort_since && annotations.value(names::kHandoffAbort) == token) memory.abort_since = now;

  Turn turn(script, memory, now, step);
  if (memory.abort_since && turn.last_admission_of("aborted", script.aborted, memory.abort_since)) {
    if (annotations.contains(names::kHandoffReadyToEvict)) turn.withdraw(names::kHandoffReadyToEvict);
    turn.give("aborted", names::kHandoffAborted, turn.token());
  }
  if (memory.abort_since && !script.answers_after_abort) return step;
  show_life(script, memory, now, turn);
  if (memory.given.contains("ack") && turn.last_admission_of("pre-done", script.pre_done, memory.seen_at)) {
    turn.give("pre-done", names::kHandoffPreDone, turn.token());
  }
  migrate(script, memory, now, step, turn);
  if (memory.silent) step.due.reset();
  return step;
}

api::Json handoff_merge_patch(const HandoffStep& step, const std::string& uid) {
  api::Json annotations = api::Json::object();
  for (const auto& [key, value] : step.annotations) {
    if (value) {
      annotations[key] = *value;
    } else {
      annotations[key] = nullptr;
    }
  }
  return {{"metadata", {{"uid", uid}, {"annotations", std::move(annotations)}}}};
}

std::optional<HandoffOperatorState::Action> HandoffOperatorState::look(const api::Json& pod, base::TimePoint now) {
  const std::string uid = uid_of(pod);
  const api::StringMap annotations = string_map(api::find_at(pod, {"metadata", "annotations"}));
  const std::string* own = annotations.find(behaviour::kHandoff);
  const bool asks = annotations.contains(names::kHandoffRequest);
  if (is_terminating(pod) || (!own && !(default_script_ && annotations.contains(names::kHandoffMode)))) {
    forget(uid);
    return std::nullopt;
  }
  if (!asks && !memories_.contains(uid)) return std::nullopt;
  Action action;
  HandoffScript script;
  if (own) {
    auto parsed = HandoffScript::parse(*own);
    if (!parsed) return Action{{}, parsed.error().message};
    script = *std::move(parsed);
  } else {
    script = *default_script_;
  }
  action.step = handoff_decide(script, annotations, memories_[uid], now);
  if (!asks) forget(uid);
  return action;
}

}  // namespace simulator
