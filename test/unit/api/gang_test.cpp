#include "api/gang.hpp"

#include <gtest/gtest.h>

namespace gang_test {

using Entries = std::vector<std::pair<std::string, std::string>>;

struct GangCase {
  std::string name;
  Entries labels;
  Entries annotations;
  std::string owner_kind;
  std::optional<api::Gang> want;
};

class GangOf : public testing::TestWithParam<GangCase> {};

TEST_P(GangOf, ReadsWhatThePodDeclares) {
  const GangCase& c = GetParam();
  api::Pod pod;
  pod.meta.labels = api::StringMap(Entries(c.labels));
  pod.meta.annotations = api::StringMap(Entries(c.annotations));
  if (!c.owner_kind.empty()) pod.meta.owner_references = {{"batch/v1", c.owner_kind, "train", "o-1", true}};
  EXPECT_EQ(api::gang_of(pod), c.want);
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
    Pods, GangOf,
    testing::Values(
        GangCase{"Nothing", {}, {}, "ReplicaSet", std::nullopt},
        GangCase{"Annotation", {}, {kGroup}, "", api::Gang{"trainer", 0}},
        GangCase{"Label", {kGroup}, {}, "", api::Gang{"trainer", 0}},
        GangCase{"AnnotationBeforeLabel", {{"evacuator.dev/group", "other"}}, {kGroup}, "", api::Gang{"trainer", 0}},
        GangCase{"Order", {}, {kGroup, {"evacuator.dev/group-order", "-2"}}, "", api::Gang{"trainer", -2}},
        GangCase{"NonsenseOrder", {}, {kGroup, {"evacuator.dev/group-order", "2nd"}}, "", api::Gang{"trainer", 0}},
        GangCase{"OrderBeyondNumbers",
                 {},
                 {kGroup, {"evacuator.dev/group-order", "99999999999"}},
                 "",
                 api::Gang{"trainer", 0}},
        GangCase{"OrderAloneIsNoGroup", {}, {{"evacuator.dev/group-order", "1"}}, "", std::nullopt},
        GangCase{"WorkersFirst", kWorker, {}, "StatefulSet", api::Gang{"LeaderWorkerSet/llm/2", 0}},
        GangCase{"LeaderLast", kLeader, {}, "StatefulSet", api::Gang{"LeaderWorkerSet/llm/2", 1}},
        GangCase{"StatedOrderOfALeader",
                 kLeader,
                 {{"evacuator.dev/group-order", "0"}},
                 "StatefulSet",
                 api::Gang{"LeaderWorkerSet/llm/2", 0}},
        GangCase{"IndexedJobByAnnotation", {}, {kIndex}, "Job", api::Gang{"Job/train", 0}},
        GangCase{"IndexedJobByLabel", {kIndex}, {}, "Job", api::Gang{"Job/train", 0}},
        GangCase{"PlainJob", {}, {}, "Job", std::nullopt},
        GangCase{"IndexWithoutJob", {}, {kIndex}, "ReplicaSet", std::nullopt},
        GangCase{"TakenOutOfItsJob", {}, {kIndex, {"evacuator.dev/group", ""}}, "Job", std::nullopt},
        GangCase{"OwnGroupBeforeTheJobs", {}, {kIndex, kGroup}, "Job", api::Gang{"trainer", 0}}),
    [](const auto& info) { return info.param.name; });

TEST(GangOfPod, CutsNamesOfAnyLength) {
  api::Pod pod;
  pod.meta.annotations = api::StringMap{{"evacuator.dev/group", std::string(300'000, 'x')}};
  ASSERT_TRUE(api::gang_of(pod));
  EXPECT_EQ(api::gang_of(pod)->name.size(), 253u);
}

}  // namespace gang_test
