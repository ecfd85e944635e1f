#include "simulator/operators/patroni.hpp"

#include "simulator/api/request_info.hpp"
#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace patroni_test {

using api::Json;
using base::seconds;

/// pg-0 is the leader, pg-1 and pg-2 are replicas.
class SimulatedPatroni : public testing::Test {
 protected:
  SimulatedPatroni() {
    world.add(objects::name_space("shop"));
    world.add_nodes(3);
    for (const char* name : {"pg-0", "pg-1", "pg-2"}) {
      Json pod = objects::pod("shop", name, "100m", "128Mi");
      pod["metadata"]["labels"] = {{"cluster-name", "db"}, {"application", "spilo"}};
      world.add(std::move(pod));
    }
    world.advance(seconds(60));
    patroni.add({.ns = "shop", .name = "db", .switch_takes = seconds(5)});
    patroni.promote("db", "pg-0");
    tick();
  }
  void tick(base::Duration by = {}) {
    world.advance(by);
    patroni.tick(world.now());
  }
  kube::Response ask(const std::string& leader, const std::string& candidate) {
    kube::Request request;
    request.method = "POST";
    request.path = "/api/v1/namespaces/shop/pods/http:" + leader + ":8008/proxy/switchover";
    request.body = Json{{"leader", leader}, {"candidate", candidate}}.dump();
    return patroni.answer(read_request(request), request).value_or(kube::Response{});
  }
  std::string role(const std::string& pod) {
    return api::text_at(*world.pod(pod), {"metadata", "labels", "spilo-role"});
  }

  World world;
  Patroni patroni{world.cluster.store()};
};

TEST_F(SimulatedPatroni, KeepsTheLabelsOfFrozenMembers) {
  ASSERT_EQ(role("pg-0"), "master");
  const auto before = *world.pod("pg-0");
  patroni.cluster("db").tags["pg-0"].frozen = true;
  patroni.promote("db", "pg-1");
  tick(seconds(30));
  EXPECT_EQ(role("pg-1"), "master");
  EXPECT_EQ(role("pg-0"), "master") << "nobody takes it off";
  EXPECT_EQ((*world.pod("pg-0"))["metadata"]["annotations"], before["metadata"]["annotations"]);
  patroni.cluster("db").tags.clear();
  tick(seconds(1));
  EXPECT_EQ(role("pg-0"), "replica");
}

TEST_F(SimulatedPatroni, HasNoLeaderKeyWithoutALeader) {
  EXPECT_EQ(ask("pg-0", "pg-1").status, 503) << "it goes on";
  tick();
  ASSERT_EQ(patroni.leader("db"), "");
  const auto answer = ask("pg-0", "pg-2");
  EXPECT_EQ(answer.status, 412);
  EXPECT_EQ(answer.body, "leader name does not match");
}

}  // namespace patroni_test
}  // namespace simulator
