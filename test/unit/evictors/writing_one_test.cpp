/// The example of docs/evictors/writing-one.md, which has the text between the two markers word for word.

// begin
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/evictor.hpp"

namespace evictors {

/// Evicts a pod only while its annotation example.com/idle is "true".
class IdleEviction final : public Evictor {
 public:
  static constexpr std::string_view kName = "idle-eviction";
  static constexpr std::string_view kIdle = "example.com/idle";

  std::string_view name() const override { return kName; }
  EvictorTraits traits() const override { return {.leaves_marks = false, .automatic = false}; }

  Probe probe(const EvictorContext& context) const override {
    Probe probe;
    if (is_idle(context)) return probe;
    probe.support = Support::kUnsupported;
    probe.reason = "the pod is not idle: annotation example.com/idle is not \"true\"";
    return probe;
  }

  EvictionStep plan(const EvictorContext& context) const override {
    if (context.evacuation.status.phase != api::EvacuationPhase::kRequesting) return {NextMove::kProceed, {}};
    if (!is_idle(context)) return {.next = NextMove::kWait, .action = {}, .why = "the pod works again"};
    // The API server refuses the eviction of a pod that has changed since it was read.
    return {NextMove::kAct, post_eviction(context, context.pod->meta.resource_version)};
  }

  Classification classify(const EvictorContext&, const Action&, const CallResult& answer) const override {
    return classify_eviction(answer);
  }

 private:
  static bool is_idle(const EvictorContext& context) { return context.pod->meta.annotations.value(kIdle) == "true"; }
};

}  // namespace evictors
// end

#include <gtest/gtest.h>

#include "objects.hpp"
#include "test/builders/page_example.hpp"

namespace writing_one_test {

using namespace evictors_test;
using evictors::IdleEviction;
using evictors::NextMove;
using evictors::Support;

TEST(WritingAnEvictor, TheExampleEvictsIdlePodsOnly) {
  const auto of = evacuation();
  auto target = pod();
  EXPECT_EQ(IdleEviction().probe(context(of, target)).support, Support::kUnsupported);
  EXPECT_EQ(IdleEviction().plan(context(of, target)).next, NextMove::kWait);
  target.meta.annotations = target.meta.annotations.with(IdleEviction::kIdle, "true");
  EXPECT_EQ(IdleEviction().probe(context(of, target)).support, Support::kSupported);
  EXPECT_EQ(IdleEviction().plan(context(of, target)).next, NextMove::kAct);
}

TEST(WritingAnEvictor, ThePageHasTheExample) {
  EXPECT_EQ(builders::example_of_page("docs/evictors/writing-one.md"),
            builders::example_of_source("test/unit/evictors/writing_one_test.cpp"));
}

}  // namespace writing_one_test
