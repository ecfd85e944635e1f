#include "api/pod_group.hpp"

#include <gtest/gtest.h>

namespace pod_group_test {

using Entries = std::vector<std::pair<std::string, std::string>>;

struct PodGroupCase {
  std::string name;
  Entries labels;
  Entries annotations;
  std::string owner_kind;
  std::optional<api::PodGroup> want;
};

class PodGroupOf : public testing::TestWithParam<PodGroupCase> {};

TEST_P(PodGroupOf, ReadsTheDeclarationOfThePod) {
  const PodGroupCase& c = GetParam();
  api::Pod pod;
  pod.meta.labels = api::StringMap(Entries(c.labels));
  pod.meta.annotations = api::StringMap(Entries(c.annotations));
  if (!c.owner_kind.empty()) pod.meta.owner_references = {{"batch/v1", c.owner_kind, "train", "o-1", true}};
  EXPECT_EQ(api::pod_group_of(pod), c.want);
}

const Entries kLeader = {{"leaderworkerset.sigs.k8s.io/name", "llm"},
                         {"leaderworkerset.sigs.k8s.io/group-index", "2"},
                         {"leaderworkerset.sigs.k8s.io/worker-index", "0"}};
const Entries kWorker = {{"leaderworkerset.sigs.k8s.io/name", "llm"},
                         {"leaderworkerset.sigs.k8s.io/group-index", "2"},
                         {"leaderworkerset.sigs.k8s.io/worker-index", "1"}};
const std::pair<std::string, std::string> kIndex{"batch.kubernetes.io/job-completion-index", "3"};
const std::pair<std::string, std::string> kGroup{"evacuator.dev/group", "trainer"};

INSTANTIATE_TEST_SUITE_P(
    Pods, PodGroupOf,
    testing::Values(
        PodGroupCase{"Nothing", {}, {}, "ReplicaSet", std::nullopt},
        PodGroupCase{"Annotation", {}, {kGroup}, "", api::PodGroup{"trainer", 0}},
        PodGroupCase{"Label", {kGroup}, {}, "", api::PodGroup{"trainer", 0}},
        PodGroupCase{
            "AnnotationBeforeLabel", {{"evacuator.dev/group", "other"}}, {kGroup}, "", api::PodGroup{"trainer", 0}},
        PodGroupCase{"Order", {}, {kGroup, {"evacuator.dev/group-order", "-2"}}, "", api::PodGroup{"trainer", -2}},
        PodGroupCase{
            "NonsenseOrder", {}, {kGroup, {"evacuator.dev/group-order", "2nd"}}, "", api::PodGroup{"trainer", 0}},
        PodGroupCase{"OrderBeyondNumbers",
                     {},
                     {kGroup, {"evacuator.dev/group-order", "99999999999"}},
                     "",
                     api::PodGroup{"trainer", 0}},
        PodGroupCase{"OrderAloneIsNoGroup", {}, {{"evacuator.dev/group-order", "1"}}, "", std::nullopt},
        PodGroupCase{"WorkersFirst", kWorker, {}, "StatefulSet", api::PodGroup{"LeaderWorkerSet/llm/2", 0}},
        PodGroupCase{"LeaderLast", kLeader, {}, "StatefulSet", api::PodGroup{"LeaderWorkerSet/llm/2", 1}},
        PodGroupCase{"StatedOrderOfALeader",
                     kLeader,
                     {{"evacuator.dev/group-order", "0"}},
                     "StatefulSet",
                     api::PodGroup{"LeaderWorkerSet/llm/2", 0}},
        PodGroupCase{"IndexedJobByAnnotation", {}, {kIndex}, "Job", api::PodGroup{"Job/train", 0}},
        PodGroupCase{"IndexedJobByLabel", {kIndex}, {}, "Job", api::PodGroup{"Job/train", 0}},
        PodGroupCase{"PlainJob", {}, {}, "Job", std::nullopt},
        PodGroupCase{"IndexWithoutJob", {}, {kIndex}, "ReplicaSet", std::nullopt},
        PodGroupCase{"TakenOutOfItsJob", {}, {kIndex, {"evacuator.dev/group", ""}}, "Job", std::nullopt},
        PodGroupCase{"OwnGroupBeforeTheJobs", {}, {kIndex, kGroup}, "Job", api::PodGroup{"trainer", 0}}),
    [](const auto& test) { return test.param.name; });

TEST(PodGroupOfPod, TruncatesNamesOfAnyLength) {
  api::Pod pod;
  pod.meta.annotations = api::StringMap{{"evacuator.dev/group", std::string(300'000, 'x')}};
  ASSERT_TRUE(api::pod_group_of(pod));
  EXPECT_EQ(api::pod_group_of(pod)->name.size(), 253u);
}

}  // namespace pod_group_test
