#include "test/unit/simulator/api/fixture.hpp"

#include "simulator/registry/output.hpp"

namespace simulator {
namespace table_test {

using Json = api::Json;

/// Returns the columns of one object including wide ones, such as "Name=p|Ready=1/2|…".
std::string row_of(const Registry& registry, std::string_view group, std::string_view plural, const char* object) {
  const ServedPtr resource = registry.find(group, "v1", plural);
  Output output;
  output.format = Output::Format::kTable;
  output.include = Output::Include::kNone;
  output.now = *base::parse_time("2026-11-21T10:05:00Z");
  const Json table = table_of(*resource, {std::make_shared<const Json>(Json::parse(object))}, output);
  std::string text;
  for (std::size_t i = 0; i < table.at("columnDefinitions").size(); ++i) {
    const Json& cell = table.at("rows").at(0).at("cells").at(i);
    text += (text.empty() ? "" : "|") + table.at("columnDefinitions").at(i).at("name").get<std::string>() + "=" +
            (cell.is_string() ? cell.get<std::string>() : cell.dump());
  }
  return text;
}

struct RowCase {
  const char* name;
  const char* group;
  const char* plural;
  const char* object;
  const char* contains;
};

class TableTest : public testing::TestWithParam<RowCase> {};

TEST_P(TableTest, MatchesKubectl) {
  const Registry registry(PolicyVersion::kV1);
  const RowCase& c = GetParam();
  EXPECT_NE(row_of(registry, c.group, c.plural, c.object).find(c.contains), std::string::npos)
      << row_of(registry, c.group, c.plural, c.object);
}

INSTANTIATE_TEST_SUITE_P(
    Columns, TableTest,
    testing::Values(
        RowCase{
            "RunningPod", "", "pods",
            R"({"metadata":{"name":"p","creationTimestamp":"2026-11-21T10:00:00Z"},"spec":{"nodeName":"n1","containers":[{},{}]},
                    "status":{"phase":"Running","podIP":"10.0.0.1","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}},{"ready":false}]}})",
            "Name=p|Ready=1/2|Status=Running|Restarts=2|Age=5m|IP=10.0.0.1|Node=n1|Nominated Node=<none>|Readiness "
            "Gates=<none>"},
        RowCase{
            "RestartedPod", "", "pods",
            R"({"metadata":{},"status":{"phase":"Running","containerStatuses":[{"restartCount":3,"lastState":{"terminated":{"finishedAt":"2026-11-21T10:03:00Z"}}}]}})",
            "Restarts=3 (2m ago)"},
        RowCase{"TerminatingPod", "", "pods",
                R"({"metadata":{"deletionTimestamp":"2026-11-21T10:00:00Z"},"status":{"phase":"Running"}})",
                "Status=Terminating"},
        RowCase{
            "CrashingPod", "", "pods",
            R"({"metadata":{},"status":{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
            "Status=CrashLoopBackOff"},
        RowCase{
            "InitializingPod", "", "pods",
            R"({"metadata":{},"spec":{"initContainers":[{},{}]},"status":{"phase":"Pending","initContainerStatuses":[{"state":{"terminated":{"exitCode":0}}},{"state":{"running":{}}}]}})",
            "Status=Init:1/2"},
        RowCase{
            "CompletedPod", "", "pods",
            R"({"metadata":{},"status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})",
            "Status=Completed"},
        RowCase{
            "FailedPod", "", "pods",
            R"({"metadata":{},"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]}})",
            "Status=ExitCode:3"},
        RowCase{"EvictedPod", "", "pods", R"({"metadata":{},"status":{"phase":"Failed","reason":"Evicted"}})",
                "Status=Evicted"},
        RowCase{
            "CordonedNode", "", "nodes",
            R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/control-plane":"","node-role.kubernetes.io/etcd":""}},"spec":{"unschedulable":true},
                    "status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.32.0"},"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}})",
            "Name=n|Status=Ready,SchedulingDisabled|Roles=control-plane,etcd|Age=<unknown>|Version=v1.32.0|Internal-IP="
            "10.0.0.9|External-IP=<none>"},
        RowCase{"DeadNode", "", "nodes",
                R"({"metadata":{},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
                "Status=NotReady|Roles=<none>"},
        RowCase{
            "Deployment", "apps", "deployments",
            R"({"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
                    "status":{"readyReplicas":2,"updatedReplicas":3,"availableReplicas":2}})",
            "Name=d|Ready=2/3|Up-to-date=3|Available=2|Age=<unknown>|Containers=c|Images=i|Selector=a=b"},
        RowCase{"ReplicaSet", "apps", "replicasets",
                R"({"metadata":{"name":"r"},"spec":{"replicas":3},"status":{"replicas":2,"readyReplicas":1}})",
                "Desired=3|Current=2|Ready=1"},
        RowCase{"StatefulSet", "apps", "statefulsets",
                R"({"metadata":{"name":"s"},"spec":{"replicas":2},"status":{"readyReplicas":1}})",
                "Name=s|Ready=1/2|Age"},
        RowCase{"DaemonSet", "apps", "daemonsets",
                R"({"metadata":{"name":"s"},"status":{"desiredNumberScheduled":4,"numberReady":3}})",
                "Desired=4|Current=0|Ready=3|Up-to-date=0|Available=0|Node Selector=<none>"},
        RowCase{
            "Job", "batch", "jobs",
            R"({"metadata":{"name":"j"},"spec":{"completions":5},"status":{"succeeded":5,"startTime":"2026-11-21T10:00:00Z","completionTime":"2026-11-21T10:00:30Z",
                    "conditions":[{"type":"Complete","status":"True"}]}})",
            "Name=j|Status=Complete|Completions=5/5|Duration=30s"},
        RowCase{"Pdb", "policy", "poddisruptionbudgets",
                R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":"25%"},"status":{"disruptionsAllowed":1}})",
                "Name=b|Min Available=N/A|Max Unavailable=25%|Allowed Disruptions=1"},
        RowCase{
            "Event", "", "events",
            R"({"metadata":{"name":"e"},"type":"Warning","reason":"Blocked","note":"why","regarding":{"kind":"Pod","name":"p"},"eventTime":"2026-11-21T10:04:00.000000Z",
                    "reportingController":"evacuator","series":{"count":4,"lastObservedTime":"2026-11-21T10:04:50.000000Z"}})",
            "Last Seen=10s|Type=Warning|Reason=Blocked|Object=pod/p|Subobject=|Source=evacuator|Message=why|First "
            "Seen=60s|Count=4|Name=e"},
        RowCase{"Lease", "coordination.k8s.io", "leases", R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})",
                "Name=l|Holder=me"},
        RowCase{"Namespace", "", "namespaces", R"({"metadata":{"name":"n"},"status":{"phase":"Active"}})",
                "Name=n|Status=Active"},
        RowCase{
            "Claim", "", "persistentvolumeclaims",
            R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","storageClassName":"s"},"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}}})",
            "Name=c|Status=Bound|Volume=v|Capacity=1Gi|Access Modes=RWO|StorageClass=s"},
        RowCase{"Definition", "apiextensions.k8s.io", "customresourcedefinitions",
                R"({"metadata":{"name":"d","creationTimestamp":"2026-11-21T10:00:00Z"}})",
                "Name=d|Created At=2026-11-21T10:00:00Z"},
        RowCase{"KindWithoutColumns", "rbac.authorization.k8s.io", "roles",
                R"({"metadata":{"name":"r","creationTimestamp":"2026-11-21T10:00:00Z"}})", "Name=r|Age=5m"},
        RowCase{"HostilePod", "", "pods",
                R"({"metadata":{"labels":3},"spec":[],"status":{"containerStatuses":{"a":1},"conditions":[1,null]}})",
                "Ready=0/0"},
        RowCase{"HostileNode", "", "nodes", R"({"metadata":{"labels":[]},"status":{"addresses":[3]}})",
                "Status=Unknown"}),
    [](const auto& test) { return test.param.name; });

}  // namespace table_test
}  // namespace simulator
