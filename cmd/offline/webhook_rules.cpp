#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "cmd/offline/webhook_check.hpp"
#include "evictors/webhook/contract.hpp"

namespace cmd {
namespace {

namespace contract = evictors::webhook;
using api::Json;
using CallResult = base::Result<kube::Response>;

/// What a rule observed instead of the expected behavior. Empty if the rule holds.
using RuleFailure = std::string;

std::string beginning(std::string_view body) {
  std::string text(body.substr(0, 80));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string told(const CallResult& answer) {
  if (!answer) return "no response: " + answer.error().message;
  return fmt::format("{} {}", answer->status, beginning(answer->body));
}

bool is_2xx(const CallResult& answer) { return answer && answer->status >= 200 && answer->status < 300; }
bool is_4xx(const CallResult& answer) { return answer && answer->status >= 400 && answer->status < 500; }

/// One run through the rules of the contract.
class Walk {
 public:
  explicit Walk(const WebhookUnderTest& target) : target_(target) {}

  std::vector<WebhookRule> run() {
    rule("unknown-token-is-404", "GET of a token that was never started returns 404", &Walk::unknown_token);
    rule("rejects-no-json", "a start whose body is not JSON returns 4xx", &Walk::rejects_no_json);
    rule("rejects-other-version", "a start of another apiVersion returns 4xx", &Walk::rejects_other_version);
    rule("rejects-other-token", "a start whose token differs from the path's returns 4xx", &Walk::rejects_other_token);
    rule("knows-its-methods", "methods other than POST, GET and DELETE return 4xx", &Walk::other_method);
    rule("demands-credentials", "without credentials every call returns 401 or 403", &Walk::anonymous,
         target_.call_anonymously ? "" : "the kit has no credentials");
    rule("start-answers-status", "POST returns 2xx with a valid status of that token", &Walk::start);
    const std::string skip = started_ ? "" : "the start failed";
    rule("answers-are-json", "responses have Content-Type application/json", &Walk::content_type, skip);
    rule("start-is-idempotent", "a repeated POST returns 2xx and starts nothing", &Walk::start_again, skip);
    rule("tokens-do-not-mix", "a second evacuation has its own token and state", &Walk::second_token, skip);
    rule("reaches-an-end", "the state only advances, every status is valid, and an end state is reached in time",
         &Walk::reach_end, skip);
    rule("abort-is-taken", "DELETE returns 2xx", &Walk::abort, skip);
    rule("abort-forgets", "after an abort GET returns 404 in time", &Walk::forgets, skip);
    rule("abort-is-idempotent", "DELETE of an unknown token returns 2xx or 404", &Walk::abort_again, skip);
    rule("aborted-stays-aborted", "a start that arrives after its abort returns 410", &Walk::start_aborted, skip);
    return std::move(rules_);
  }

 private:
  void rule(std::string name, std::string says, RuleFailure (Walk::*check)(), std::string skip = {}) {
    WebhookRule result{std::move(name), std::move(says), WebhookRule::Outcome::kSkipped, std::move(skip)};
    if (result.detail.empty()) {
      result.detail = (this->*check)();
      result.outcome = result.detail.empty() ? WebhookRule::Outcome::kPassed : WebhookRule::Outcome::kFailed;
    }
    rules_.push_back(std::move(result));
  }

  std::string token(std::string_view name) const { return fmt::format("check-{}-{}.1", target_.run, name); }

  Json start_body(const std::string& token) const {
    return {{"apiVersion", contract::kApiVersion},
            {"kind", "Evacuation"},
            {"token", token},
            {"attempt", 1},
            {"reason", "evacuator webhook-check"},
            {"deadline", base::format_time(target_.clock.now() + base::seconds(3600))},
            {"evacuation", {{"namespace", target_.pod.ns}, {"name", "webhook-check"}, {"uid", target_.run}}},
            {"pod",
             {{"namespace", target_.pod.ns},
              {"name", target_.pod.name},
              {"uid", target_.pod_uid},
              {"node", target_.node}}}};
  }

  CallResult post(const std::string& name) {
    return target_.call(contract::start_request(token(name), start_body(token(name))));
  }
  CallResult look(const std::string& name) { return target_.call(contract::status_request(token(name))); }
  CallResult remove(const std::string& name) { return target_.call(contract::abort_request(token(name))); }

  /// Parses the response into `status`. Returns the problem if it is not a valid status of that token.
  RuleFailure judge(const CallResult& answer, const std::string& name, contract::ServiceStatus& status) const {
    if (!is_2xx(answer)) return told(answer);
    auto parsed = contract::parse_service_status(answer->body, token(name));
    if (!parsed) return fmt::format("{}: {}", answer->status, parsed.error().message);
    status = *std::move(parsed);
    return {};
  }

  RuleFailure unknown_token() {
    const CallResult answer = look("never");
    return answer && answer->status == 404 ? "" : told(answer);
  }

  RuleFailure rejects(const std::string& body, const std::string& name) {
    kube::Request request = contract::start_request(token(name), {});
    request.body = body;
    const CallResult answer = target_.call(request);
    if (is_2xx(answer)) (void)remove(name);  // abort the start that the service wrongly accepted
    return is_4xx(answer) ? "" : told(answer);
  }

  RuleFailure rejects_no_json() { return rejects("{not json", "bad"); }

  RuleFailure rejects_other_version() {
    Json body = start_body(token("v9"));
    body["apiVersion"] = "evacuator.dev/webhook/v999";
    return rejects(body.dump(), "v9");
  }

  RuleFailure rejects_other_token() { return rejects(start_body("somebody-elses.1").dump(), "path"); }

  RuleFailure other_method() {
    kube::Request request = contract::start_request(token("put"), start_body(token("put")));
    request.method = "PUT";
    const CallResult answer = target_.call(request);
    return is_4xx(answer) ? "" : told(answer);
  }

  RuleFailure anonymous() {
    const CallResult got = target_.call_anonymously(contract::status_request(token("anonymous")));
    const bool handshake_refused = !got && got.error().code == base::ErrorCode::kUnavailable;  // TLS handshake failed
    const bool refused = got && (got->status == 401 || got->status == 403);
    return handshake_refused || refused ? "" : told(got);
  }

  RuleFailure start() {
    first_ = post("main");
    RuleFailure complaint = judge(first_, "main", newest_);
    started_ = complaint.empty();
    if (!started_) (void)remove("main");
    return complaint;
  }

  RuleFailure content_type() {
    const std::string& type = first_->content_type;
    return type.starts_with("application/json") ? "" : fmt::format("Content-Type: {}", type.empty() ? "(none)" : type);
  }

  /// Reads the status of the first token and checks that it may follow the last one.
  RuleFailure look_on() {
    contract::ServiceStatus next;
    RuleFailure bad = judge(look("main"), "main", next);
    return bad.empty() ? follow(next) : bad;
  }

  RuleFailure follow(const contract::ServiceStatus& next) {
    const contract::ServiceStatus before = std::exchange(newest_, next);
    if (next.evict_by != before.evict_by) return "evictBy changed during the evacuation";
    if (contract::may_follow(before.state, next.state)) return {};
    return fmt::format("the state went from {} back to {}", to_string(before.state), to_string(next.state));
  }

  /// Starts the same token again. The pause is long enough to detect, by state or progress, a service that restarts the
  /// work.
  RuleFailure start_again() {
    target_.pause(target_.poll);
    if (RuleFailure bad = look_on(); !bad.empty()) return bad;
    const contract::ServiceStatus looked = newest_;
    contract::ServiceStatus again;
    if (RuleFailure bad = judge(post("main"), "main", again); !bad.empty()) return bad;
    if (RuleFailure bad = follow(again); !bad.empty()) return bad;
    const bool less = looked.progress && again.progress && *again.progress < *looked.progress;
    return less ? fmt::format("progress decreased from {} to {}", *looked.progress, *again.progress) : "";
  }

  RuleFailure second_token() {
    contract::ServiceStatus other;
    if (RuleFailure bad = judge(post("other"), "other", other); !bad.empty()) return bad;
    return look_on();
  }

  bool at_end() const {
    return newest_.state == contract::ServiceState::kReadyToEvict || newest_.state == contract::ServiceState::kMoved ||
           newest_.state == contract::ServiceState::kFailed;
  }

  RuleFailure reach_end() {
    const base::TimePoint until = target_.clock.now() + target_.patience;
    while (!at_end()) {
      if (target_.clock.now() >= until)
        return fmt::format("still {} after {}", to_string(newest_.state), base::format_duration(target_.patience));
      target_.pause(target_.poll);
      if (RuleFailure bad = look_on(); !bad.empty()) return bad;
    }
    return {};
  }

  RuleFailure abort() {
    const CallResult other = remove("other");
    (void)remove("main");  // informs the service that this run is over
    return is_2xx(other) ? "" : told(other);
  }

  RuleFailure forgets() {
    const base::TimePoint until = target_.clock.now() + target_.patience;
    for (;;) {
      const CallResult answer = look("other");
      if (answer && answer->status == 404) return {};
      if (target_.clock.now() >= until)
        return fmt::format("after {}: {}", base::format_duration(target_.patience), told(answer));
      target_.pause(target_.poll);
    }
  }

  RuleFailure abort_again() {
    const CallResult answer = remove("other");
    return is_2xx(answer) || (answer && answer->status == 404) ? "" : told(answer);
  }

  RuleFailure start_aborted() {
    const CallResult answer = post("other");
    if (is_2xx(answer)) (void)remove("other");
    return answer && answer->status == 410 ? "" : told(answer);
  }

  const WebhookUnderTest& target_;
  std::vector<WebhookRule> rules_;
  CallResult first_ = base::unavailable("not called");
  contract::ServiceStatus newest_;
  bool started_ = false;
};

}  // namespace

std::vector<WebhookRule> check_webhook(const WebhookUnderTest& target) { return Walk(target).run(); }

bool all_hold(const std::vector<WebhookRule>& rules) {
  return std::none_of(rules.begin(), rules.end(),
                      [](const WebhookRule& rule) { return rule.outcome == WebhookRule::Outcome::kFailed; });
}

}  // namespace cmd
