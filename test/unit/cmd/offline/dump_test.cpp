#include "cmd/offline/dump.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
#include "cmd/explain/explain.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace dump_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string node(const std::string& name) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name +
         "}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}";
}

/// A pod of shop on n1 with that creationTimestamp; "": none.
std::string pod(const std::string& name, const std::string& created) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: shop, uid: u-" + name +
         (created.empty() ? "" : ", creationTimestamp: \"" + created + "\"") +
         ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u-rs}]}, spec: {nodeName: n1, "
         "containers: [{name: c, image: i}]}, status: {phase: Running}}";
}

class DumpWithoutTimes : public cmd_test::CommandTest {
 protected:
  std::string dump(const std::vector<std::string>& pods) const {
    std::string text = "kind: List\nitems:\n- " + node("n1") + "\n- " + node("n2") + "\n";
    for (const std::string& each : pods) text += "- " + each + "\n";
    return write("dump.yaml", text);
  }
  int simulate(const std::string& dump, const std::string& now = {}, const std::string& output = "table") {
    SimulateOptions options;
    options.snapshot = dump;
    options.policy = policy_;
    options.now = now;
    options.output = output;
    return captured([&] { return run_simulate(options); });
  }

  const std::string policy_ =
      write("policy.yaml",
            "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: tidy}\n"
            "spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]}\n");
};

TEST_F(DumpWithoutTimes, MovesNoPodForAnAgeThatIsUnknown) {
  const std::string file =
      dump({pod("old", "2026-01-01T00:00:00Z"), pod("new", "2026-11-22T00:00:00Z"), pod("none", ""), pod("bad", "x")});
  ASSERT_EQ(simulate(file), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("Policy tidy at 2026-11-22T00:00:00Z"), HasSubstr("1 to move"),
                          HasSubstr("Warning: 2 of 4 pods have no readable creationTimestamp")));
  EXPECT_THAT(out_, HasSubstr("age 325d is above 60m"));
  ASSERT_EQ(simulate(file, "", "json"), 0) << err_;
  EXPECT_THAT(api::Json::parse(out_)["warnings"].dump(), HasSubstr("2 of 4 pods have no readable creationTimestamp"));
}

TEST_F(DumpWithoutTimes, SaysNothingWhenAllAreKnown) {
  ASSERT_EQ(simulate(dump({pod("new", "2026-11-22T00:00:00Z")})), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("creationTimestamp")));
}

TEST_F(DumpWithoutTimes, AsksForNowWhenNothingTellsIt) {
  const std::string file = dump({pod("none", "")});
  EXPECT_EQ(simulate(file), 1);
  EXPECT_THAT(err_, HasSubstr("pass --now"));
  EXPECT_EQ(simulate(file, "2026-11-22T00:00:00Z"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("0 to move"));
}

TEST_F(DumpWithoutTimes, ExplainTellsThatTheAgeIsUnknown) {
  const ExplainOptions options{
      .pod = "none", .ns = "shop", .snapshot = dump({pod("none", "")}), .now = "2026-11-22T00:00:00Z"};
  ASSERT_EQ(captured([&] { return run_explain(options); }), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("of unknown age"), HasSubstr("1 of 1 pods have no readable creationTimestamp")));
}

}  // namespace dump_test
}  // namespace cmd
