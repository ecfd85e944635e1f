/// Volumes that are not yet bound or provisioned, attach limits, devices. predicates_test.cpp covers bound volumes.

#include <gmock/gmock.h>

#include <functional>

#include "api/core/pvc_risk.hpp"
#include "planner/scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/first_refusal.hpp"

namespace scheduling {
namespace volume_predicates_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

constexpr const char* kDriver = "ebs.csi.aws.com";

api::StorageClass storage_class(std::string name, bool waits, bool makes = true) {
  api::StorageClass made;
  made.meta.name = std::move(name);
  made.provisioner = makes ? kDriver : "kubernetes.io/no-provisioner";
  made.waits_for_pod = waits;
  made.makes_volumes = makes;
  return made;
}

api::StorageClass in_zone(api::StorageClass made, std::string zone) {
  made.allowed_topologies.push_back({{{"zone", api::SelectorOperator::kIn, {std::move(zone)}}}, {}});
  return made;
}

api::PersistentVolumeClaim claim(std::string name, std::string storage_class, std::string volume = "") {
  api::PersistentVolumeClaim made;
  made.meta.ns = "default";
  made.meta.name = std::move(name);
  made.storage_class = std::move(storage_class);
  made.volume_name = std::move(volume);
  made.request = api::Quantity::from_units(10);
  made.access_modes = {"ReadWriteOnce"};
  return made;
}

api::PersistentVolume volume(std::string name, std::int64_t size, std::string mode = "ReadWriteOnce") {
  api::PersistentVolume made;
  made.meta.name = std::move(name);
  made.storage_class = "local";
  made.capacity = api::Quantity::from_units(size);
  made.access_modes = {std::move(mode)};
  made.required_node_terms.push_back({{{"zone", api::SelectorOperator::kIn, {"z1"}}}, {}});
  return made;
}

api::PersistentVolume attached(std::string name) {
  api::PersistentVolume made;
  made.meta.name = std::move(name);
  made.csi_driver = kDriver;
  made.is_claimed = true;
  return made;
}

void use(PodBuilder& pod, const std::string& claim, api::VolumeKind kind = api::VolumeKind::kPersistentVolumeClaim) {
  pod.with([&](api::Pod& each) {
    each.volumes.push_back({kind, claim, kind == api::VolumeKind::kEphemeral ? "wait" : ""});
  });
}

/// CSINode of n. The driver may attach `most` volumes.
api::CsiNode limit_on_n(std::int32_t most) {
  api::CsiNode made;
  made.meta.name = "n";
  made.drivers = {{"other.driver", 0}, {kDriver, most}};
  return made;
}

struct VolumeCase {
  std::string name;
  std::function<void(PodBuilder& pod, ClusterBuilder& rest)> arrange;
  std::string want;         ///< Expected reason, empty if the pod p fits on the node n in zone z1
  api::StringMap labels{};  ///< Labels of n in addition to its zone
};

class VolumeTest : public testing::TestWithParam<VolumeCase> {};

TEST_P(VolumeTest, DecidesLikeTheScheduler) {
  PodBuilder pod("p");
  pod.on("home");
  ClusterBuilder builder;
  NodeBuilder node_n("n");
  for (const auto& [key, value] : GetParam().labels) node_n.label(key, value);
  builder.add(NodeBuilder("home")).add(node_n.label("zone", "z1").sized(4000, 4000, 100));
  GetParam().arrange(pod, builder);
  const auto cluster = builder.add(pod).build();
  const auto index = cluster->find_pod("default", "p").value();
  const NodeIndex node = cluster->find_node("n").value();
  const auto refusal = first_refusal(WhatIf(*cluster), index, node, FitLevel::kScheduler);
  EXPECT_EQ(refusal ? std::string(refusal->reason) : "", GetParam().want);
  EXPECT_THAT(refusal ? refusal->message() : "", testing::Not(testing::HasSubstr("{")));
  EXPECT_FALSE(first_refusal(WhatIf(*cluster), index, node, FitLevel::kBasic));
}

using P = PodBuilder;
using C = ClusterBuilder;

api::PersistentVolumeClaim going(api::PersistentVolumeClaim made) {
  made.meta.deletion_timestamp = builders::kNoon;
  return made;
}

INSTANTIATE_TEST_SUITE_P(
    RiskyClaims, VolumeTest,
    testing::Values(
        VolumeCase{"RefusesOneThatIsBeingDeleted",
                   [](P& p, C& c) { use(p, "a"), c.add(going(claim("a", "fast", "pv"))).add(attached("pv")); },
                   "ClaimBeingDeleted"},
        VolumeCase{"RefusesOneThatIsBeingDeletedBeforeItWasBound",
                   [](P& p, C& c) { use(p, "a"), c.add(going(claim("a", "wait"))).add(storage_class("wait", true)); },
                   "ClaimBeingDeleted"},
        VolumeCase{"RefusesOneThatIsLost",
                   [](P& p, C& c) { use(p, "a"), c.add(claim("a", "fast", std::string(api::kLostVolume))); },
                   "ClaimLost"},
        VolumeCase{"OfAnEphemeralVolumeTheReplacementGetsAnother",
                   [](P& p, C& c) {
                     use(p, "p-a", api::VolumeKind::kEphemeral), c.add(going(claim("p-a", "wait", "pv")));
                     c.add(storage_class("wait", true));
                   },
                   ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    UnboundClaims, VolumeTest,
    testing::Values(
        VolumeCase{"FitsWhereNoClassesAreKnown", [](P& p, C& c) { use(p, "a"), c.add(claim("a", "wait")); }, ""},
        VolumeCase{"RefusesOneThatMustBeBoundBefore",
                   [](P& p, C& c) { use(p, "a"), c.add(claim("a", "now")).add(storage_class("now", false)); },
                   "UnboundClaim"},
        VolumeCase{"RefusesOneWhoseClassDoesNotExist",
                   [](P& p, C& c) { use(p, "a"), c.add(claim("a", "gone")).add(storage_class("now", false)); },
                   "UnboundClaim"},
        VolumeCase{"FitsOneThatWaitsForThePod",
                   [](P& p, C& c) { use(p, "a"), c.add(claim("a", "wait")).add(storage_class("wait", true)); }, ""},
        VolumeCase{"GoesByTheDefaultClass",
                   [](P& p, C& c) {
                     auto standard = in_zone(storage_class("standard", true), "z2");
                     standard.is_default = true;
                     use(p, "a"), c.add(claim("a", "")).add(standard);
                   },
                   "VolumeTopology"},
        VolumeCase{
            "FitsWhereTheClassMakesVolumes",
            [](P& p, C& c) { use(p, "a"), c.add(claim("a", "wait")).add(in_zone(storage_class("wait", true), "z1")); },
            ""},
        VolumeCase{
            "RefusesWhereItMakesNone",
            [](P& p, C& c) { use(p, "a"), c.add(claim("a", "wait")).add(in_zone(storage_class("wait", true), "z2")); },
            "VolumeTopology"},
        VolumeCase{"TakesAFreeVolumeThatIsThere",
                   [](P& p, C& c) {
                     use(p, "a"), c.add(claim("a", "local")).add(storage_class("local", true, false));
                     c.add(volume("pv", 10));
                   },
                   ""},
        VolumeCase{"ButNotOneThatIsTooSmall",
                   [](P& p, C& c) {
                     use(p, "a"), c.add(claim("a", "local")).add(storage_class("local", true, false));
                     c.add(volume("pv", 9));
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"NorOneOfAnotherMode",
                   [](P& p, C& c) {
                     use(p, "a"), c.add(claim("a", "local")).add(storage_class("local", true, false));
                     c.add(volume("pv", 10, "ReadOnlyMany"));
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"NorOneThatIsTaken",
                   [](P& p, C& c) {
                     use(p, "a"), c.add(claim("a", "local")).add(storage_class("local", true, false));
                     auto taken = volume("pv", 10);
                     taken.is_claimed = true;
                     c.add(taken);
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"NorOneThatIsElsewhere",
                   [](P& p, C& c) {
                     use(p, "a"), c.add(claim("a", "local")).add(storage_class("local", true, false));
                     auto far = volume("pv", 10);
                     far.required_node_terms[0].match_expressions[0].values = {"z2"};
                     c.add(far);
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"AsksWhereAnEphemeralVolumeCanBeMadeAnew",
                   [](P& p, C& c) {
                     use(p, "p-scratch", api::VolumeKind::kEphemeral);
                     c.add(claim("p-scratch", "wait", "pv")).add(volume("pv", 10));
                     c.add(in_zone(storage_class("wait", true), "z2"));
                   },
                   "VolumeTopology"},
        VolumeCase{"LeavesAnEphemeralVolumeBehind",
                   [](P& p, C& c) {
                     use(p, "p-scratch", api::VolumeKind::kEphemeral);
                     auto far = volume("pv", 10);
                     far.required_node_terms[0].match_expressions[0].values = {"z2"};
                     c.add(claim("p-scratch", "wait", "pv")).add(far).add(storage_class("wait", true));
                   },
                   ""}),
    [](const auto& test) { return test.param.name; });

// --- existing volumes

void offer(P& p, C& c, api::PersistentVolume there, const std::function<void(api::PersistentVolumeClaim&)>& want = {}) {
  api::PersistentVolumeClaim wanted = claim("a", "local");
  wanted.meta.uid = "uid-a";
  if (want) want(wanted);
  use(p, "a");
  c.add(wanted).add(storage_class("local", true, false)).add(std::move(there));
}

template <typename F>
api::PersistentVolume with(api::PersistentVolume made, F&& change) {
  change(made);
  return made;
}

api::PersistentVolume kept_for(std::string uid) {
  return with(volume("pv", 10), [&](auto& each) {
    each.is_claimed = true;
    each.claim = {"default", "a"};
    each.claim_uid = std::move(uid);
  });
}

INSTANTIATE_TEST_SUITE_P(
    ReadyVolumes, VolumeTest,
    testing::Values(
        VolumeCase{
            "TakesOneThatIsAvailable",
            [](P& p, C& c) { offer(p, c, with(volume("pv", 10), [](auto& each) { each.phase = "Available"; })); }, ""},
        VolumeCase{"NotOneThatWasReleased",
                   [](P& p, C& c) { offer(p, c, with(volume("pv", 10), [](auto& each) { each.phase = "Released"; })); },
                   "NoVolumeForClaim"},
        VolumeCase{"NotOneThatIsBeingDeleted",
                   [](P& p, C& c) {
                     offer(p, c,
                           with(volume("pv", 10), [](auto& each) { each.meta.deletion_timestamp = builders::kNoon; }));
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"NotABlockDeviceForAFilesystem",
                   [](P& p, C& c) { offer(p, c, with(volume("pv", 10), [](auto& each) { each.is_block = true; })); },
                   "NoVolumeForClaim"},
        VolumeCase{"ABlockDeviceForABlockDevice",
                   [](P& p, C& c) {
                     offer(p, c, with(volume("pv", 10), [](auto& each) { each.is_block = true; }),
                           [](auto& wanted) { wanted.wants_block = true; });
                   },
                   ""},
        VolumeCase{
            "NotOneOfAnotherAttributesClass",
            [](P& p, C& c) { offer(p, c, volume("pv", 10), [](auto& wanted) { wanted.attributes_class = "gold"; }); },
            "NoVolumeForClaim"},
        VolumeCase{"NotOneThatItsSelectorDoesNotMatch",
                   [](P& p, C& c) {
                     offer(p, c, volume("pv", 10),
                           [](auto& wanted) { wanted.selector = builders::labels_in("tier", {"gold"}); });
                   },
                   "NoVolumeForClaim"},
        VolumeCase{"OneThatItsSelectorMatches",
                   [](P& p, C& c) {
                     offer(p, c,
                           with(volume("pv", 10),
                                [](auto& each) {
                                  each.meta.labels = {{"tier", "gold"}};
                                }),
                           [](auto& wanted) { wanted.selector = builders::labels_in("tier", {"gold"}); });
                   },
                   ""},
        VolumeCase{"OneThatIsKeptForIt", [](P& p, C& c) { offer(p, c, kept_for("")); }, ""},
        VolumeCase{"OneThatIsKeptForItsUid", [](P& p, C& c) { offer(p, c, kept_for("uid-a")); }, ""},
        VolumeCase{"NotOneThatIsKeptForAnEarlierClaim", [](P& p, C& c) { offer(p, c, kept_for("uid-old")); },
                   "NoVolumeForClaim"},
        VolumeCase{"OfAnEphemeralVolumeAsWell",
                   [](P& p, C& c) {
                     p.with([](api::Pod& each) {
                       auto wanted = std::make_shared<const api::PersistentVolumeClaim>(claim("", "local"));
                       each.volumes.push_back({api::VolumeKind::kEphemeral, "p-a", "local", wanted});
                     });
                     c.add(storage_class("local", true, false)).add(volume("pv", 10));
                   },
                   ""}),
    [](const auto& test) { return test.param.name; });

void bound(P& p, C& c, api::PersistentVolume to) {
  use(p, "a");
  c.add(claim("a", "fast", "pv")).add(std::move(to));
}

api::PersistentVolume labelled(const char* key, const char* value) {
  return with(attached("pv"), [&](auto& each) { each.meta.labels = {{key, value}}; });
}

constexpr const char* kOldZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kZone = "topology.kubernetes.io/zone";

INSTANTIATE_TEST_SUITE_P(
    BoundVolumes, VolumeTest,
    testing::Values(VolumeCase{"RefusesAVolumeThatDoesNotExist",
                               [](P& p, C& c) { use(p, "a"), c.add(claim("a", "fast", "gone")).add(attached("pv")); },
                               "VolumeNotFound"},
                    VolumeCase{"SaysNothingWhereNobodyListedVolumes",
                               [](P& p, C& c) { use(p, "a"), c.add(claim("a", "fast", "pv")); }, ""},
                    VolumeCase{"ANodeWithoutZoneAndRegionTakesAll",
                               [](P& p, C& c) { bound(p, c, labelled(kZone, "z2")); }, ""},
                    VolumeCase{"ANodeOfAnotherZoneDoesNot",
                               [](P& p, C& c) { bound(p, c, labelled(kZone, "z2")); },
                               "VolumeNodeMismatch",
                               {{kZone, "z1"}}},
                    VolumeCase{"NorOneThatSaysOnlyItsRegion",
                               [](P& p, C& c) { bound(p, c, labelled(kZone, "z2")); },
                               "VolumeNodeMismatch",
                               {{"topology.kubernetes.io/region", "r"}}},
                    VolumeCase{"TheOldLabelCountsToo",
                               [](P& p, C& c) { bound(p, c, labelled(kOldZone, "z2")); },
                               "VolumeNodeMismatch",
                               {{kZone, "z1"}}},
                    VolumeCase{"TheOldLabelMeansTodays",
                               [](P& p, C& c) { bound(p, c, labelled(kOldZone, "z1__z2")); },
                               "",
                               {{kZone, "z1"}}},
                    VolumeCase{"OldLabelsOnBothSides",
                               [](P& p, C& c) { bound(p, c, labelled(kOldZone, "z2")); },
                               "VolumeNodeMismatch",
                               {{kOldZone, "z1"}}}),
    [](const auto& test) { return test.param.name; });

/// Attaches one volume to n, used by two pods.
void fill_n(C& c, std::int32_t most) {
  c.add(limit_on_n(most)).add(storage_class("wait", true));
  c.add(claim("there", "", "pv-there")).add(attached("pv-there")).add(claim("a", "", "pv-a")).add(attached("pv-a"));
  for (const char* name : {"x", "y"}) {
    PodBuilder pod(name);
    use(pod, "there");
    c.add(pod.on("n"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    AttachLimits, VolumeTest,
    testing::Values(VolumeCase{"FitsUpToTheLimit", [](P& p, C& c) { fill_n(c, 2), use(p, "a"); }, ""},
                    VolumeCase{"RefusesOneMore", [](P& p, C& c) { fill_n(c, 1), use(p, "a"); }, "TooManyVolumes"},
                    VolumeCase{"CountsASharedVolumeOnce", [](P& p, C& c) { fill_n(c, 1), use(p, "there"); }, ""},
                    VolumeCase{"CountsVolumesThatAreStillToBeMade",
                               [](P& p, C& c) { fill_n(c, 2), c.add(claim("b", "wait")), use(p, "a"), use(p, "b"); },
                               "TooManyVolumes"},
                    VolumeCase{"CountsEphemeralVolumes",
                               [](P& p, C& c) {
                                 fill_n(c, 2);
                                 for (const char* name : {"p-1", "p-2"}) use(p, name, api::VolumeKind::kEphemeral);
                               },
                               "TooManyVolumes"},
                    VolumeCase{"AsksNothingOfPodsWithoutVolumes", [](P&, C& c) { fill_n(c, 0); }, ""},
                    VolumeCase{"KnowsNoLimitWithoutACsiNode",
                               [](P& p, C& c) { use(p, "a"), c.add(claim("a", "", "pv-a")).add(attached("pv-a")); },
                               ""}),
    [](const auto& test) { return test.param.name; });

api::VolumeAttachment attachment(std::string volume, std::string node = "n", std::string driver = kDriver) {
  api::VolumeAttachment made;
  made.meta.name = "csi-" + volume + "-" + node;
  made.driver = std::move(driver);
  made.node = std::move(node);
  made.volume = std::move(volume);
  return made;
}

/// Row 6 of the comparison with kube-scheduler: VolumeAttachments count. n can attach two volumes, and its pods use
/// one.
void fill_n_and_attach(P& p, C& c, api::VolumeAttachment attached) {
  fill_n(c, 2), use(p, "a"), c.add(std::move(attached));
}

INSTANTIATE_TEST_SUITE_P(
    Row6, VolumeTest,
    testing::Values(VolumeCase{"CountsAVolumeThatNoPodUsesAnyMore",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-gone")); }, "TooManyVolumes"},
                    VolumeCase{"CountsAVolumeThatAPodNamesItself",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("")); }, "TooManyVolumes"},
                    VolumeCase{"CountsTheVolumeOfAPodOnce",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-there")); }, ""},
                    VolumeCase{"CountsTheVolumeThatThePodBringsOnce",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-a")); }, ""},
                    VolumeCase{"LeavesOutThoseOfOtherNodes",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-gone", "home")); }, ""},
                    VolumeCase{"LeavesOutThoseOfOtherDrivers",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-gone", "n", "other.driver")); },
                               ""},
                    VolumeCase{"LeavesOutThoseOfUnknownNodes",
                               [](P& p, C& c) { fill_n_and_attach(p, c, attachment("pv-gone", "nowhere")); }, ""}),
    [](const auto& test) { return test.param.name; });

/// The move is planned for the time after the volume is detached.
TEST(Row6, ForgetsTheVolumeOfAPodThatMoves) {
  C builder;
  P pod("p");
  builder.add(NodeBuilder("home")).add(NodeBuilder("n"));
  fill_n(builder, 1), use(pod, "a"), builder.add(attachment("pv-there"));
  const auto cluster = builder.add(pod.on("home")).build();
  const auto index = [&](const char* name) { return cluster->find_pod("default", name).value(); };
  const NodeIndex node = cluster->find_node("n").value();
  WhatIf what_if(*cluster);
  EXPECT_EQ(first_refusal(what_if, index("p"), node, FitLevel::kScheduler)->reason, "TooManyVolumes");
  what_if.move(index("x"), kNoNode);
  what_if.move(index("y"), kNoNode);
  EXPECT_FALSE(first_refusal(what_if, index("p"), node, FitLevel::kScheduler));
}

/// Free storage of the driver of class "wait" in one zone.
api::CsiStorageCapacity storage_left(std::int64_t units, std::string zone = "z1") {
  api::CsiStorageCapacity made;
  made.meta.name = "left-in-" + zone;
  made.storage_class = "wait";
  made.nodes = builders::labels_in("zone", {std::move(zone)});
  made.capacity = api::Quantity::from_units(units);
  return made;
}

api::CsiStorageCapacity in_pieces_of(std::int64_t units, api::CsiStorageCapacity made) {
  made.largest = api::Quantity::from_units(units);
  return made;
}

void ask_for_storage(P& p, C& c, api::CsiStorageCapacity left, bool tells = true) {
  api::CsiDriver driver;
  driver.meta.name = kDriver;
  driver.tells_capacity = tells;
  use(p, "a"), c.add(claim("a", "wait")).add(storage_class("wait", true)).add(driver).add(std::move(left));
}

/// Row 11: CSIStorageCapacity. The PVC requests 10.
INSTANTIATE_TEST_SUITE_P(
    Row11, VolumeTest,
    testing::Values(
        VolumeCase{"FitsWhereEnoughIsLeft", [](P& p, C& c) { ask_for_storage(p, c, storage_left(10)); }, ""},
        VolumeCase{"RefusesWhereLessIsLeft", [](P& p, C& c) { ask_for_storage(p, c, storage_left(9)); },
                   "NoStorageLeft"},
        VolumeCase{"RefusesWhereItIsLeftElsewhere", [](P& p, C& c) { ask_for_storage(p, c, storage_left(10, "z2")); },
                   "NoStorageLeft"},
        VolumeCase{"TakesTheBestOfSeveral",
                   [](P& p, C& c) { ask_for_storage(p, c, storage_left(10)), c.add(storage_left(10, "z2")); }, ""},
        VolumeCase{"GoesByTheLargestVolume",
                   [](P& p, C& c) { ask_for_storage(p, c, in_pieces_of(9, storage_left(100))); }, "NoStorageLeft"},
        VolumeCase{"RefusesWhatIsNotSaid",
                   [](P& p, C& c) {
                     auto left = storage_left(0);
                     left.capacity.reset();
                     ask_for_storage(p, c, left);
                   },
                   "NoStorageLeft"},
        VolumeCase{"RefusesWhatNoNodeReaches",
                   [](P& p, C& c) {
                     auto left = storage_left(10);
                     left.nodes.reset();
                     ask_for_storage(p, c, left);
                   },
                   "NoStorageLeft"},
        VolumeCase{"RefusesWhereAnotherClassHasSomeLeft",
                   [](P& p, C& c) {
                     auto left = storage_left(10);
                     left.storage_class = "other";
                     ask_for_storage(p, c, left);
                   },
                   "NoStorageLeft"},
        VolumeCase{"AsksNoDriverThatDoesNotTell", [](P& p, C& c) { ask_for_storage(p, c, storage_left(9), false); },
                   ""},
        VolumeCase{"SaysNothingWhereNobodyListedThem",
                   [](P& p, C& c) {
                     api::CsiDriver driver;
                     driver.meta.name = kDriver;
                     driver.tells_capacity = true;
                     use(p, "a"), c.add(claim("a", "wait")).add(storage_class("wait", true)).add(driver);
                   },
                   ""},
        VolumeCase{"AsksForTheTemplateOfAnEphemeralVolume",
                   [](P& p, C& c) {
                     ask_for_storage(p, c, storage_left(15));
                     use(p, "p-scratch", api::VolumeKind::kEphemeral);
                     p.with([](api::Pod& pod) {
                       auto wanted = claim("", "wait");
                       wanted.request = api::Quantity::from_units(20);
                       pod.volumes.back().claim_template = std::make_shared<const api::PersistentVolumeClaim>(wanted);
                     });
                   },
                   "NoStorageLeft"}),
    [](const auto& test) { return test.param.name; });

api::ResourceClaim devices(bool allocated, std::string zone = "") {
  api::ResourceClaim made;
  made.meta.ns = "default";
  made.meta.name = "gpu";
  made.is_allocated = allocated;
  if (!zone.empty()) made.node_terms.push_back({{{"zone", api::SelectorOperator::kIn, {std::move(zone)}}}, {}});
  return made;
}

void need_devices(P& pod, bool by_template = false) {
  pod.with([&](api::Pod& each) {
    each.uses_resource_claims = true;
    each.makes_resource_claims = by_template;
    if (!by_template) each.resource_claims = {"gpu"};
  });
}

INSTANTIATE_TEST_SUITE_P(
    Devices, VolumeTest,
    testing::Values(
        VolumeCase{"FitsWhereTheDevicesAre", [](P& p, C& c) { need_devices(p), c.add(devices(true, "z1")); }, ""},
        VolumeCase{"FitsAnywhereForDevicesOfTheNetwork", [](P& p, C& c) { need_devices(p), c.add(devices(true)); }, ""},
        VolumeCase{"RefusesWhereTheyAreNot", [](P& p, C& c) { need_devices(p), c.add(devices(true, "z2")); },
                   "DeviceNodeMismatch"},
        VolumeCase{"RefusesWhatIsNotAllocated", [](P& p, C& c) { need_devices(p), c.add(devices(false)); },
                   "DevicesUnknown"},
        VolumeCase{"RefusesAnUnknownClaim", [](P& p, C&) { need_devices(p); }, "DevicesUnknown"},
        VolumeCase{"RefusesClaimsByTemplate", [](P& p, C&) { need_devices(p, true); }, "DevicesUnknown"}),
    [](const auto& test) { return test.param.name; });

}  // namespace volume_predicates_test
}  // namespace scheduling
