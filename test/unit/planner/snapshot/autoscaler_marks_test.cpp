#include "planner/snapshot/autoscaler_marks.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "test/builders/cluster.hpp"

namespace scheduling {
namespace autoscaler_marks_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;

struct RemovalCase {
  std::string name;
  std::function<void(NodeBuilder&)> mark;
  NodeRemoval want;
};

class RemovalOf : public testing::TestWithParam<RemovalCase> {};

TEST_P(RemovalOf, ReadsTheNode) {
  NodeBuilder node("n");
  GetParam().mark(node);
  EXPECT_EQ(removal_of(node.build()), GetParam().want);
}

const auto name_of = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Nodes, RemovalOf,
    testing::Values(
        RemovalCase{"None", [](NodeBuilder&) {}, NodeRemoval::kNone},
        RemovalCase{"OthersTaints", [](NodeBuilder& n) { n.taint("karpenter.sh/unregistered"); }, NodeRemoval::kNone},
        RemovalCase{"DrainedByClusterAutoscaler", [](NodeBuilder& n) { n.taint("ToBeDeletedByClusterAutoscaler"); },
                    NodeRemoval::kUnderWay},
        RemovalCase{"DisruptedByKarpenter", [](NodeBuilder& n) { n.taint("karpenter.sh/disrupted"); },
                    NodeRemoval::kUnderWay},
        RemovalCase{"DisruptedByAnOlderKarpenter", [](NodeBuilder& n) { n.taint("karpenter.sh/disruption"); },
                    NodeRemoval::kUnderWay},
        RemovalCase{"Candidate",
                    [](NodeBuilder& n) {
                      n.taint("DeletionCandidateOfClusterAutoscaler", api::TaintEffect::kPreferNoSchedule);
                    },
                    NodeRemoval::kCandidate},
        RemovalCase{"CandidateThatGoes",
                    [](NodeBuilder& n) {
                      n.taint("DeletionCandidateOfClusterAutoscaler", api::TaintEffect::kPreferNoSchedule);
                      n.taint("ToBeDeletedByClusterAutoscaler");
                    },
                    NodeRemoval::kUnderWay},
        RemovalCase{"Deleted", [](NodeBuilder& n) { n.with([](api::Node& x) { x.meta.deletion_timestamp = kNoon; }); },
                    NodeRemoval::kUnderWay}),
    name_of);

struct AnnotationCase {
  std::string name;
  std::string key;
  std::string value;
  bool unsafe;
  bool undisruptable;
};

class PodAnnotations : public testing::TestWithParam<AnnotationCase> {};

TEST_P(PodAnnotations, ApplyToAPodThatIsOneHourOld) {
  const api::Pod pod = PodBuilder("p").annotate(GetParam().key, GetParam().value).build();
  EXPECT_EQ(is_marked_unsafe(pod), GetParam().unsafe);
  EXPECT_EQ(is_marked_undisruptable(pod, kNoon), GetParam().undisruptable);
}

constexpr const char* kSafe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
constexpr const char* kDisrupt = "karpenter.sh/do-not-disrupt";

INSTANTIATE_TEST_SUITE_P(Pods, PodAnnotations,
                         testing::Values(AnnotationCase{"Unsafe", kSafe, "false", true, false},
                                         AnnotationCase{"Safe", kSafe, "true", false, false},
                                         AnnotationCase{"SafeInCapitals", kSafe, "False", false, false},
                                         AnnotationCase{"DoNotDisrupt", kDisrupt, "true", false, true},
                                         AnnotationCase{"DoDisrupt", kDisrupt, "false", false, false},
                                         AnnotationCase{"ForLongerThanItsAge", kDisrupt, "61m", false, true},
                                         AnnotationCase{"ForItsAge", kDisrupt, "1h", false, false},
                                         AnnotationCase{"Negative", kDisrupt, "-2h", false, false},
                                         AnnotationCase{"NoDuration", kDisrupt, "2 hours", false, false},
                                         AnnotationCase{"Empty", kDisrupt, "", false, false}),
                         name_of);

TEST(PodAnnotationsAlone, ADurationHoldsAPodThatHasNotStarted) {
  const api::Pod pod = PodBuilder("p").annotate(kDisrupt, "1s").with([](api::Pod& x) { x.start_time.reset(); }).build();
  EXPECT_TRUE(is_marked_undisruptable(pod, kNoon));
}

TEST(NodeAnnotations, KeepTheNodeWhenTrue) {
  const auto kept_by = [](std::string_view key, std::string_view value) {
    return keeping_annotation(
        NodeBuilder("n").with([&](api::Node& x) { x.meta.annotations = x.meta.annotations.with(key, value); }).build());
  };
  EXPECT_EQ(kept_by("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"),
            "cluster-autoscaler.kubernetes.io/scale-down-disabled");
  EXPECT_EQ(kept_by(kDisrupt, "true"), kDisrupt);
  EXPECT_EQ(kept_by(kDisrupt, "false"), std::nullopt);
  EXPECT_EQ(kept_by(kSafe, "false"), std::nullopt) << "of pods";
}

}  // namespace autoscaler_marks_test
}  // namespace scheduling
