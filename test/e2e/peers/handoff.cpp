#include "test/e2e/peers/handoff.hpp"

#include <ctime>

#include "test/e2e/harness/await.hpp"

namespace e2e {
namespace {

const std::string kPrefix = "handoff.evacuator.dev/";

std::string annotation(const Json& pod, const std::string& key) {
  const Json& metadata = pod.at("metadata");
  const auto annotations = metadata.find("annotations");
  return annotations == metadata.end() ? std::string() : annotations->value(kPrefix + key, std::string());
}

Json annotate(const std::map<std::string, std::string>& values) {
  Json annotations = Json::object();
  for (const auto& [key, value] : values) annotations[kPrefix + key] = value;
  return {{"metadata", {{"annotations", annotations}}}};
}

std::size_t steps_done(const std::string& reported, const std::string& token, const std::vector<int>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (reported == token + "@" + std::to_string(steps[i])) return i + 1;
  }
  return 0;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::optional<Json> next_answer(const Json& pod, const HandoffScript& script, const std::string& time) {
  const std::string token = annotation(pod, "request");
  if (token.empty()) return std::nullopt;
  if (annotation(pod, "abort") == token) {
    if (annotation(pod, "aborted") == token) return std::nullopt;
    return annotate({{"aborted", token}});
  }
  if (!annotation(pod, "ack").starts_with(token + "@")) return annotate({{"ack", token + "@" + time}});
  const std::size_t done = steps_done(annotation(pod, "progress"), token, script.progress);
  if (done < script.progress.size())
    return annotate({{"progress", token + "@" + std::to_string(script.progress[done])}});
  if (!script.says_ready) return annotate({{"heartbeat", token + "@" + time}});
  if (annotation(pod, "ready-to-evict") != token) return annotate({{"ready-to-evict", token}});
  return std::nullopt;
}

HandoffOperator::HandoffOperator(const Api& api, std::string ns, std::map<std::string, HandoffScript> scripts)
    : api_(api), ns_(std::move(ns)), scripts_(std::move(scripts)), thread_([this] { work(); }) {}

HandoffOperator::~HandoffOperator() {
  stopping_ = true;
  thread_.join();
}

void HandoffOperator::work() {
  while (!stopping_) {
    try {
      look_around();
    } catch (const std::exception&) {
      // The pod was deleted between the list and the patch. The next round reads its state again.
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

/// Returns true if the Evacuation shows the last reported progress, so that every step is visible on a slow machine,
/// too.
bool HandoffOperator::progress_is_shown(const Json& pod) const {
  const std::string reported = annotation(pod, "progress");
  const auto at = reported.find('@');
  if (at == std::string::npos) return true;
  const std::string uid = text_at(pod, "/metadata/uid");
  for (const Json& evacuation : api_.list(path::evacuations(ns_))) {
    if (text_at(evacuation, "/spec/podRef/uid") != uid || text_at(evacuation, "/status/phase") != "InProgress")
      continue;
    return evacuation.at("status").value("progress", -1) == std::stoi(reported.substr(at + 1));
  }
  return true;
}

void HandoffOperator::look_around() {
  const auto now = std::chrono::steady_clock::now();
  for (const Json& pod : api_.list(path::pods(ns_))) {
    const auto script = scripts_.find(text_at(pod, "/metadata/labels/app"));
    const std::string uid = text_at(pod, "/metadata/uid");
    if (script == scripts_.end() || (answered_.contains(uid) && now - answered_[uid] < kStep)) continue;
    if (!progress_is_shown(pod)) continue;
    const auto answer = next_answer(pod, script->second, now_text());
    if (!answer) continue;
    api_.merge(path::pods(ns_, text_at(pod, "/metadata/name")), *answer);
    answered_[uid] = now;
  }
}

}  // namespace e2e
