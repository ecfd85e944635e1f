#include "cmd/offline/webhook_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/fakes/webhook_service.hpp"

namespace webhook_check_test {

using base::seconds;
using cmd::WebhookRule;
using fakes::WebhookBehaviour;
using fakes::WebhookService;
using Lie = WebhookBehaviour::Lie;

/// Runs the kit against the example service, without sockets and on virtual time.
class Kit {
 public:
  explicit Kit(WebhookBehaviour behaviour) : bearer_(behaviour.bearer), service_(clock_, std::move(behaviour)) {}

  std::vector<WebhookRule> run() {
    const auto send = [this](const kube::Request& request, const std::string& bearer) {
      http_server::Request received{request.method, request.path, request.query, {}, request.body, "kit"};
      if (!bearer.empty()) received.headers.emplace_back("authorization", "Bearer " + bearer);
      const http_server::Response answer = service_.answer(received);
      return base::Result<kube::Response>(kube::Response{answer.status, answer.body, {}, answer.content_type});
    };
    cmd::WebhookUnderTest target{[=, this](const kube::Request& request) { return send(request, bearer_); },
                                 {},
                                 [this](base::Duration pause) { clock_.advance(pause); },
                                 clock_,
                                 {"shop", "web-1"},
                                 "7c1a8c1e-0000-4000-8000-000000000001",
                                 "node-a",
                                 "cafe"};
    if (!bearer_.empty()) target.call_anonymously = [=](const kube::Request& request) { return send(request, ""); };
    return cmd::check_webhook(target);
  }

  /// Returns the names of the failed rules.
  std::vector<std::string> broken() {
    std::vector<std::string> names;
    for (const WebhookRule& rule : run()) {
      if (rule.outcome == WebhookRule::Outcome::kFailed) names.push_back(rule.name);
    }
    return names;
  }
  std::vector<std::string> left_behind() const { return service_.tokens(); }

 private:
  base::ManualClock clock_{*base::parse_time("2026-11-21T12:00:00Z")};
  std::string bearer_;
  WebhookService service_;
};

WebhookBehaviour lying(Lie lie) {
  WebhookBehaviour behaviour;
  behaviour.lie = lie;
  return behaviour;
}

TEST(WebhookCheck, TheExampleServiceKeepsTheContract) {
  for (const bool evicts_itself : {false, true}) {
    WebhookBehaviour behaviour;
    behaviour.bearer = "sesame";
    behaviour.evicts_itself = evicts_itself;
    behaviour.aborting = seconds(5);
    Kit kit(behaviour);
    for (const WebhookRule& rule : kit.run())
      EXPECT_EQ(rule.outcome, WebhookRule::Outcome::kPassed) << rule.name << ": " << rule.detail;
  }
}

TEST(WebhookCheck, AFailedMoveIsNoContractViolation) {
  WebhookBehaviour behaviour;
  behaviour.fails = "NoRoom";
  EXPECT_THAT(Kit(behaviour).broken(), testing::IsEmpty());
}

TEST(WebhookCheck, SkipsMissingCredentials) {
  Kit kit({});
  const auto rules = kit.run();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [](const auto& rule) { return rule.name == "demands-credentials"; });
  ASSERT_NE(found, rules.end());
  EXPECT_EQ(found->outcome, WebhookRule::Outcome::kSkipped);
  EXPECT_TRUE(cmd::all_hold(rules));
}

struct LieRow {
  const char* name;
  Lie lie;
  const char* rule;  ///< rule that must fail; others may fail, too
};

TEST(WebhookCheck, CatchesEveryLie) {
  const LieRow rows[] = {
      {"html", Lie::kHtml, "start-answers-status"},
      {"wrong token", Lie::kWrongToken, "start-answers-status"},
      {"300 kB", Lie::kHuge, "start-answers-status"},
      {"wrong types", Lie::kWrongTypes, "start-answers-status"},
      {"progress 1e9", Lie::kWildProgress, "start-answers-status"},
      {"backwards", Lie::kBackwards, "start-is-idempotent"},
      {"forgets", Lie::kForgets, "start-is-idempotent"},
      {"500", Lie::kServerError, "unknown-token-is-404"},
      {"ignores abort", Lie::kIgnoresAbort, "abort-forgets"},
      {"refuses abort", Lie::kRefusesAbort, "abort-is-taken"},
      {"starts again", Lie::kStartsAnew, "start-is-idempotent"},
      {"accepts nonsense", Lie::kAcceptsNonsense, "rejects-no-json"},
  };
  for (const LieRow& row : rows) {
    EXPECT_THAT(Kit(lying(row.lie)).broken(), testing::Contains(row.rule)) << row.name;
  }
  WebhookBehaviour slow;
  slow.takes = seconds(3600);
  EXPECT_THAT(Kit(slow).broken(), testing::ElementsAre("reaches-an-end"));
}

TEST(WebhookCheck, LeavesNothingBehind) {
  Kit kit({});
  kit.run();
  EXPECT_THAT(kit.left_behind(), testing::IsEmpty());
}

}  // namespace webhook_check_test
