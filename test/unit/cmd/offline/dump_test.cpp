#include "cmd/offline/dump.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
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

/// Returns a pod of shop on n1. An empty `created` omits creationTimestamp.
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
  EXPECT_THAT(out_, Not(HasSubstr("readable creationTimestamp")));
}

TEST_F(DumpWithoutTimes, CountsPodsWithoutASpec) {
  const auto broken = [](const char* name, const char* spec) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"shop","uid":"{}",)"
                       R"("creationTimestamp":"2026-01-01T00:00:00Z"}}{}}})",
                       name, name, spec);
  };
  const std::string file =
      dump({pod("new", "2026-11-22T00:00:00Z"), broken("a", R"(,"spec":"what")"), broken("b", ""), broken("b", "")});
  ASSERT_EQ(simulate(file), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("Warning: 2 of 3 pods have no readable spec: their node is unknown"));
  EXPECT_THAT(out_, Not(HasSubstr("readable creationTimestamp")));
  const std::string good = dump({pod("new", "2026-11-22T00:00:00Z")});
  ASSERT_EQ(simulate(good), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("no readable spec")));
}

TEST_F(DumpWithoutTimes, RequiresNowIfItIsUnknown) {
  const std::string file = dump({pod("none", "")});
  EXPECT_EQ(simulate(file), 1);
  EXPECT_THAT(err_, HasSubstr("pass --now"));
  EXPECT_EQ(simulate(file, "2026-11-22T00:00:00Z"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("0 to move"));
}

TEST_F(DumpWithoutTimes, ExplainReportsTheUnknownAge) {
  const ExplainOptions options{
      .pod = "none", .ns = "shop", .snapshot = dump({pod("none", "")}), .now = "2026-11-22T00:00:00Z"};
  ASSERT_EQ(captured([&] { return run_explain(options); }), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("of unknown age"), HasSubstr("1 of 1 pods have no readable creationTimestamp")));
}

// ---------------------------------------------------------------- forms of a dump

constexpr const char* kNode = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})";
constexpr const char* kPod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}})";

class DumpShapes : public cmd_test::CommandTest {
 protected:
  static std::string count(const base::Result<Dump>& dump) {
    if (!dump) return dump.error().message;
    return std::to_string(dump->objects.nodes.size()) + " nodes, " + std::to_string(dump->objects.pods.size()) +
           " pods, " + std::to_string(dump->skipped_files) + " files passed over";
  }
  std::string count_of(const std::string& text) const { return count(load_dump(write("dump", text))); }
  void write_below(const std::string& folder, const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(directory_ + "/" + folder);
    write(folder + "/" + name, text);
  }
};

TEST_F(DumpShapes, MayBeSeveralOutputsInOneFile) {
  const std::string list = R"({"kind": "List", "items": [)" + std::string(kNode) + "]}";
  EXPECT_EQ(count_of(list + "\n" + kPod + "\n"), "1 nodes, 1 pods, 0 files passed over");
  EXPECT_EQ(count_of(std::string("[") + kNode + "," + kPod + "]"), "1 nodes, 1 pods, 0 files passed over");
  EXPECT_EQ(count_of("apiVersion: v1\nitems: [" + std::string(kNode) + "]\nkind: List\napiVersion: v1\nitems: [" +
                     kPod + "]\nkind: List\n"),
            "1 nodes, 1 pods, 0 files passed over");
}

TEST_F(DumpShapes, DistinguishKindsByTheirGroup) {
  const std::string foreign = R"({"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "n2"}})";
  const auto dump = load_dump(write("dump.json", std::string(kNode) + foreign + R"(
{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "metadata": {"name": "theirs"}}
{"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "items": [{"metadata": {"name": "p"}}]}
{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p", "namespace": "a"}}]})"));
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(count(dump), "1 nodes, 1 pods, 0 files passed over");
  EXPECT_TRUE(dump->policies.empty());
  EXPECT_THAT(dump->skipped, testing::ElementsAre(testing::Pair("descheduler/v1alpha2 DeschedulerPolicy", 1),
                                                  testing::Pair("longhorn.io/v1beta2 Node", 1),
                                                  testing::Pair("metrics.k8s.io/v1beta1 PodMetrics", 1)));
}

TEST_F(DumpShapes, MayBeADirectoryWithOthersBelow) {
  write("nodes.json", kNode);
  write("README.md", "# apiVersion: none");
  write("tools.yaml", "just: a file\n");
  write("broken.json", "{nothing");
  write_below("namespaces/a", "pods.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\n");
  write_below("namespaces/a/p", "logs.txt", "hello\n");
  write_below(".git", "pods.json", "{");
  EXPECT_EQ(count(load_dump(directory_)), "1 nodes, 1 pods, 4 files passed over");
}

TEST_F(DumpShapes, OfADirectorySkipOtherFiles) {
  write("nodes.json", kNode);
  write("picture.json", std::string("\x89PNG\0\0", 6));
  write("archive.json", "PK\x03\x04rest");
  write("half.json.gz", "\x1f\x8b");
  write("version.yaml", "apiVersion: v1\nversion: 1.31\n");
  EXPECT_EQ(count(load_dump(directory_)), "1 nodes, 0 pods, 4 files passed over");
}

TEST_F(DumpShapes, NameTheArchiveThatADirectoryHolds) {
  write_below("a", "must-gather.tar.gz", "\x1f\x8b");
  write_below("b", "must-gather.tar.gz", "\x1f\x8b");
  EXPECT_THAT(count(load_dump(directory_)), HasSubstr("; unpack " + directory_ + "/a/must-gather.tar.gz first"));
  EXPECT_THAT(count_of(std::string("PK\x05\x06", 4) + std::string(18, '\0')), HasSubstr("is an empty zip archive"));
}

TEST_F(DumpShapes, OfADirectoryStillNameDamagedFiles) {
  write("nodes.json", kNode);
  write_below("a", "pods.json", std::string(kPod).substr(0, 60));
  EXPECT_THAT(count(load_dump(directory_)), HasSubstr("/a/pods.json: the JSON that begins at line 1 is incomplete"));
}

TEST_F(DumpShapes, NameFileAndItem) {
  EXPECT_THAT(count_of(R"({"kind": "List", "items": [)" + std::string(kNode) + R"(, {"metadata": {}}]})"),
              HasSubstr("/dump: items[1]: has no kind"));
  EXPECT_THAT(count_of(std::string(kNode) + R"({"kind": "Pod", "metadata": {}})"),
              HasSubstr("/dump: documents[1]: Pod without metadata.name"));
  EXPECT_THAT(
      count_of(R"({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "nodes is forbidden"})"),
      HasSubstr("/dump: is not an object, but an error of the API server: \"nodes is forbidden\""));
  EXPECT_THAT(count_of("NAME   STATUS   AGE\nn1     Ready    1d\n"),
              HasSubstr("/dump: must be a Kubernetes object, not a string; dump with kubectl get"));
  EXPECT_THAT(count(load_dump(directory_ + "/none")), HasSubstr("/none: No such file or directory"));
  std::filesystem::create_directories(directory_ + "/empty");
  EXPECT_THAT(count(load_dump(directory_ + "/empty")), HasSubstr("no .json, .yaml or .yml file in this directory"));
}

TEST_F(DumpShapes, ThatHoldNothingAreEmpty) {
  for (const char* text : {"", "\n", "---\n"})
    EXPECT_THAT(count_of(text), HasSubstr("/dump: is empty: did the command that should write it fail?"));
  EXPECT_EQ(count_of(R"({"kind": "List", "items": []})"), "0 nodes, 0 pods, 0 files passed over")
      << "nothing is there, and that was said";
}

TEST_F(DumpShapes, AreReportedWithThePlan) {
  write("nodes.json", kNode);
  write("pods.json", kPod);
  write("notes.txt", "x");
  SimulateOptions options;
  options.snapshot = directory_;
  options.now = "2026-11-22T00:00:00Z";
  options.policy = write("policy.yaml",
                         "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: tidy}\n"
                         "spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]}\n");
  ASSERT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
  EXPECT_THAT(out_, HasSubstr(": 1 node, 0 pods in scope, 0 to move."));
  EXPECT_THAT(out_, HasSubstr("(ignored, not needed for planning: 1 file without Kubernetes objects)"));
  write("volumes.json", R"({"apiVersion":"longhorn.io/v1","kind":"VolumeList","items":[{"metadata":{"name":"a"}}]})");
  for (const char* kind : {"A", "B", "C", "D", "E", "F", "G", "H", "I"})
    write(std::string(kind) + ".json", R"({"apiVersion":"v1","kind":")" + std::string(kind) + "\"}");
  ASSERT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("planning: 1 longhorn.io/v1 Volume, 1 v1 A, ")) << "all in one line";
  EXPECT_THAT(out_, HasSubstr("1 v1 G and 2 kinds more, 1 file without"));
  options.snapshot = write("alone.json", kNode);
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 1) << "a plan without pods says nothing";
  EXPECT_THAT(err_, HasSubstr("alone.json: contains no Pod; dump nodes and pods together, of all namespaces (-A)"));
  options.snapshot = options.policy = "-";
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 1);
  EXPECT_THAT(err_, HasSubstr("standard input can be the dump or the policy, not both"));
}

}  // namespace dump_test
}  // namespace cmd
