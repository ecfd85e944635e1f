#include <nlohmann/json.hpp>

#include "simulator/behaviour.hpp"
#include "test/integration/rig/rig.hpp"

/// Number of API requests of a plain eviction, from the Evacuation's creation to its terminal status, including Events,
/// without lists, watches and Leases (state-machine.md#requests). The pod's owner exists and creates a replacement.
namespace evacuation_requests_test {

using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;
using Requests = std::vector<std::string>;

const std::string kCreate = "POST the Evacuation";
const std::string kStatus = "PATCH its status";
const std::string kEviction = "POST the eviction";
const std::string kEvent = "POST the Event";

/// Durations of a pod's stop and start, in seconds.
struct Times {
  const char* stops;
  const char* starts;
};

class EvictionRequests : public Rig {
 protected:
  std::string begin(const Times& times) {
    stage(3, {{std::string(simulator::behaviour::kStopSeconds), times.stops},
              {std::string(simulator::behaviour::kStartSeconds), times.starts}});
    start_operator();
    settle();
    replica->transport.before_each_call = [this](const kube::Request& request) { note(request); };
    requests_ = {kCreate};
    replica->events.clear();
    return evacuate_as_operator(pods().front());
  }
  Requests end(const std::string& name) {
    EXPECT_TRUE(run_to_end(name)) << reason(name);
    EXPECT_EQ(reason(name), "Evicted");
    EXPECT_TRUE(get(name).status.outcome->replacement);
    EXPECT_EQ(granted(), 1u);
    Requests all = requests_;
    all.insert(all.end(), replica->events.size(), kEvent);
    return all;
  }

 private:
  void note(const kube::Request& request) {
    if (request.path.ends_with("/eviction")) return requests_.push_back(kEviction);
    const bool is_status = request.method == "PATCH" && request.path.ends_with("/status");
    if (is_status && request.path.find("/evacuations/") != std::string::npos) return requests_.push_back(kStatus);
    requests_.push_back(request.method + " " + request.path);
  }

  Requests requests_;
};

TEST_F(EvictionRequests, AreSixOfAPodThatIsGoneBeforeItsReplacementIsReady) {
  const std::string name = begin({"0.3", "20"});
  EXPECT_EQ(end(name), (Requests{kCreate, kStatus, kEviction, kStatus, kStatus, kEvent}));
}

TEST_F(EvictionRequests, AreFiveIfItsReplacementIsReadyWithinASecond) {
  const std::string name = begin({"1", "0"});
  EXPECT_EQ(end(name), (Requests{kCreate, kStatus, kEviction, kStatus, kEvent}));
}

TEST_F(EvictionRequests, AreSixOfAPodWhoseReplacementIsReadyBeforeItIsGone) {
  const std::string name = begin({"20", "3"});
  EXPECT_EQ(end(name), (Requests{kCreate, kStatus, kEviction, kStatus, kStatus, kEvent}));
}

TEST_F(EvictionRequests, AreOneMoreIfBothTakeTheirTime) {
  const std::string name = begin({"10", "25"});
  EXPECT_EQ(end(name), (Requests{kCreate, kStatus, kEviction, kStatus, kStatus, kStatus, kEvent}));
}

TEST_F(EvictionRequests, StoreAWaitOfMoreThanASecond) {
  const std::string name = begin({"10", "25"});
  ASSERT_TRUE(run_until([&] { return granted() == 1; }, seconds(5)));
  run_for(seconds(1));
  EXPECT_EQ(phase(name), Phase::kEvicting);
  ASSERT_TRUE(run_until([&] { return !pod_exists(get(name).spec.pod_ref.name); }, seconds(15)));
  run_for(seconds(1));
  EXPECT_EQ(phase(name), Phase::kVerifying);
}

/// Which Evacuation waits for which pod is stored in memory only.
TEST_F(EvictionRequests, CountANewPodInOneEvacuationOnly) {
  limits = {};
  const std::string first = begin({"0.3", "5"});
  const std::string second = evacuate_as_operator(pods().back());
  ASSERT_TRUE(run_to_end(first));
  ASSERT_TRUE(run_to_end(second));
  ASSERT_TRUE(get(first).status.outcome->replacement && get(second).status.outcome->replacement);
  EXPECT_NE(get(first).status.outcome->replacement->uid, get(second).status.outcome->replacement->uid);
}

}  // namespace evacuation_requests_test
