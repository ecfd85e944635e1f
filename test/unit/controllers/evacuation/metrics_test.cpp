#include "controllers/evacuation/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Feeds the stored states of one Evacuation to the metrics, in order.
namespace evacuation_metrics_test {

using api::EvacuationPhase;
using base::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kBlocked = "evacuator_evacuation_blocked_seconds_total{class=";
constexpr const char* kAborts = "evacuator_evacuation_aborts_total{result=";

class EvacuationSeries : public testing::Test {
 protected:
  EvacuationSeries() {
    stored.status.evictor = "eviction-api";
    stored.status.phase = EvacuationPhase::kRequesting;
    stored.status.phase_entered_at = at(0);
  }

  static base::TimePoint at(int second) { return base::TimePoint(seconds(1'000'000 + second)); }
  /// Applies `edit` to the stored status and reports the change to the metrics.
  void store(int second, const std::function<void(api::EvacuationStatus&)>& edit) {
    const api::Evacuation before = stored;
    edit(stored.status);
    series.on_status(before, stored, at(second));
  }
  void blocked(int second, const char* by) {
    store(second, [&](auto& status) {
      if (!status.blocked_since) status.blocked_since = at(second);
      status.blocked_count += 1;
      status.last_response = api::LastResponse{429, by, "", at(second)};
    });
  }
  void enters(int second, EvacuationPhase phase) {
    store(second, [&](auto& status) {
      status.phase = phase;
      status.phase_entered_at = at(second);
      status.blocked_count = 0;
    });
  }
  std::string told() const { return metrics.render(); }

  base::Metrics metrics;
  controllers::evacuation::PrometheusMetrics series{metrics};
  api::Evacuation stored;
};

TEST_F(EvacuationSeries, CountBlockedTimeUntilItIsGranted) {
  blocked(10, "PDBBlocked");
  enters(25, EvacuationPhase::kEvicting);
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"PDBBlocked\"} 15"));
  enters(60, EvacuationPhase::kVerifying);
  enters(70, EvacuationPhase::kSucceeded);
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"PDBBlocked\"} 15")) << "no more after it was let go";
}

TEST_F(EvacuationSeries, CountEachClassForItsOwnTime) {
  blocked(10, "PDBBlocked");
  blocked(15, "PDBBlocked");
  blocked(25, "WebhookDown");
  enters(27, EvacuationPhase::kBackoff);
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"PDBBlocked\"} 15"));
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"WebhookDown\"} 2"));
}

TEST_F(EvacuationSeries, DoNotCountTheBackoffAsBlocked) {
  blocked(10, "PDBBlocked");
  enters(20, EvacuationPhase::kBackoff);
  enters(80, EvacuationPhase::kPreparing);
  store(81, [](auto& status) {  // the next attempt clears these fields of the last one
    status.blocked_since.reset();
    status.last_response.reset();
  });
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"PDBBlocked\"} 10"));
}

TEST_F(EvacuationSeries, CountAHookThatFinallyAnswers) {
  stored.status.phase = EvacuationPhase::kPreparing;
  blocked(10, "WebhookDown");
  store(13, [](auto& status) {
    status.blocked_since.reset();
    status.blocked_count = 0;
  });
  EXPECT_THAT(told(), HasSubstr(std::string(kBlocked) + "\"WebhookDown\"} 3"));
}

TEST_F(EvacuationSeries, DoNotCountStatusWritesThatChangeNothingOfIt) {
  blocked(10, "PDBBlocked");
  store(12, [](auto& status) { status.message = "other"; });
  EXPECT_THAT(told(), Not(HasSubstr(kBlocked)));
}

struct AbortEnd {
  const char* name;
  EvacuationPhase led_to;
};
class Aborts : public EvacuationSeries, public testing::WithParamInterface<AbortEnd> {};

TEST_P(Aborts, AreCountedByWhereTheyLed) {
  enters(1, EvacuationPhase::kAborting);
  blocked(2, "Throttled");  // a refused abort does not count as blocked time
  EXPECT_THAT(told(), Not(HasSubstr(kAborts)));
  enters(5, GetParam().led_to);
  EXPECT_THAT(told(),
              HasSubstr(std::string(kAborts) + "\"" + std::string(api::to_string(GetParam().led_to)) + "\"} 1"));
  EXPECT_THAT(told(), Not(HasSubstr(kBlocked)));
}
INSTANTIATE_TEST_SUITE_P(EvacuationSeries, Aborts,
                         testing::Values(AbortEnd{"Cancelled", EvacuationPhase::kCancelled},
                                         AbortEnd{"Failed", EvacuationPhase::kFailed},
                                         AbortEnd{"Backoff", EvacuationPhase::kBackoff},
                                         AbortEnd{"ThePodLeft", EvacuationPhase::kVerifying}),
                         [](const auto& test) { return test.param.name; });

}  // namespace evacuation_metrics_test
