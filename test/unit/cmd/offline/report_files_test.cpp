#include "cmd/offline/report_files.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
#include "cmd/input/files.hpp"
#include "cmd/offline/block_style.hpp"
#include "cmd/offline/dump.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace report_files_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Two nodes, one pod that leaves, and hostile names that a tenant could write into a dump.
class SimulateReport : public cmd_test::CommandTest {
 protected:
  int simulate(const std::string& output, std::vector<std::string> reports) {
    SimulateOptions options;
    options.snapshot = snapshot_;
    options.policy = policy_;
    options.output = output;
    options.now = "2026-06-01T00:00:00Z";
    for (std::string& report : reports) options.reports.push_back(directory_ + "/" + report);
    return captured([&] { return run_simulate(options); });
  }
  std::string content(const std::string& name) const { return *read_file(directory_ + "/" + name); }

  const std::string snapshot_ = write("dump.yaml", R"(kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: "n1\e[31m\a"}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}, conditions: [{type: Ready, status: 'True'}]}}
- {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}, conditions: [{type: Ready, status: 'True'}]}}
- apiVersion: v1
  kind: Pod
  metadata: {name: "old\e]0;owned\a</script>", namespace: shop, uid: u-old, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u-rs}]}
  spec: {nodeName: "n1\e[31m\a", containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
  status: {phase: Running}
)");
  const std::string policy_ =
      write("policy.yaml",
            "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: tidy}\n"
            "spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]}\n");
};

TEST_F(SimulateReport, WritesEachKindByItsEnding) {
  ASSERT_EQ(simulate("table", {"a.html", "a.svg", "a.json"}), 0) << err_;
  EXPECT_THAT(content("a.html"), AllOf(HasSubstr("<!doctype html>"), HasSubstr("Content-Security-Policy")));
  EXPECT_THAT(content("a.svg"), HasSubstr("<svg xmlns"));
  const auto json = nlohmann::json::parse(content("a.json"));
  EXPECT_EQ(json["policy"], "tidy");
  EXPECT_EQ(json["nodes"].size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/a.html.part"));
}

TEST_F(SimulateReport, AnUnknownEndingIsRefusedBeforeAnythingIsDone) {
  EXPECT_EQ(simulate("table", {"a.html", "a.png"}), 1);
  EXPECT_THAT(err_, HasSubstr("a.png: the name of a report must end in .html, .svg or .json"));
  EXPECT_EQ(out_, "");
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/a.html"));
}

TEST_F(SimulateReport, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(simulate("table", {"missing/a.html"}), 1);
  EXPECT_THAT(err_, AllOf(HasSubstr("missing/a.html: cannot be written"), HasSubstr("No such file")));
}

TEST_F(SimulateReport, WideDrawsTheNodes) {
  ASSERT_EQ(simulate("wide", {}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("NODES by CPU requests"), HasSubstr("UTILIZATION")));
  ASSERT_EQ(simulate("table", {}), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("NODES by")));
}

TEST_F(SimulateReport, NothingSteersTheTerminal) {
  for (const char* output : {"table", "wide"}) {
    ASSERT_EQ(simulate(output, {}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr("old ]0;owned </script>"));
    EXPECT_THAT(out_, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\a"))));
  }
}

TEST(BlockStyleTest, FollowsTheEnvironment) {
  struct Case {
    const char* name;
    kube::Environment environment;
    std::optional<std::size_t> terminal;
    std::size_t columns;
    bool has_unicode;
    bool has_colour;
  };
  const std::vector<Case> cases = {
      {"a terminal", {{"LANG", "en_US.UTF-8"}, {"TERM", "xterm"}}, 120, 120, true, true},
      {"no colour", {{"LANG", "C.utf8"}, {"NO_COLOR", "1"}}, 120, 120, true, false},
      {"an empty NO_COLOR asks for nothing", {{"LANG", "C.utf8"}, {"NO_COLOR", ""}}, 120, 120, true, true},
      {"a dumb terminal", {{"TERM", "dumb"}}, 100, 100, false, false},
      {"LC_ALL wins", {{"LC_ALL", "C"}, {"LANG", "de_DE.UTF-8"}}, 100, 100, false, true},
      {"LC_CTYPE wins over LANG", {{"LC_CTYPE", "de_DE.UTF-8"}, {"LANG", "C"}}, 100, 100, true, true},
      {"a pipe", {{"LANG", "C.UTF-8"}}, std::nullopt, 80, true, false},
      {"a pipe with COLUMNS", {{"COLUMNS", "132"}}, std::nullopt, 132, false, false},
      {"odd COLUMNS", {{"COLUMNS", "wide"}}, std::nullopt, 80, false, false},
      {"a huge terminal", {}, 100000, 400, false, true},
      {"a tiny terminal", {}, 3, 40, false, true},
  };
  for (const Case& each : cases) {
    const auto style = block_style(each.environment, each.terminal);
    EXPECT_EQ(style.columns, each.columns) << each.name;
    EXPECT_EQ(style.has_unicode, each.has_unicode) << each.name;
    EXPECT_EQ(style.has_colour, each.has_colour) << each.name;
  }
}

}  // namespace report_files_test
}  // namespace cmd
