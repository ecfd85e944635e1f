#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "kube/transport.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/api/server.hpp"
#include "test/soak/decoded.hpp"

namespace soak {

/// A Job that is Complete or Failed.
bool has_ended(const api::Json& job);

/// What the operator's calls must look like at the moment when they are sent, and how often they may take effect: I2,
/// I3, I4, I8, I10, I15 and I17. An independent look: it knows the wire, not the evictors.
class CallWatch {
 public:
  using Report = std::function<void(const std::string&)>;

  /// `server` and `evacuations` must outlive it; `report` hears of each violation.
  CallWatch(simulator::ApiServer& server, Decoded<api::Evacuation>& evacuations, Report report)
      : server_(server), evacuations_(evacuations), report_(std::move(report)) {}

  /// Right before a call of ours reaches the API server, and right after.
  void before(const kube::Request& request);
  void after();
  /// Another replica leads from here on, in the same instant: it cannot know what its forerunner was told just now.
  void leader_changed() { refused_.clear(); }
  /// Right before a call of ours reaches the service of evictor webhook.
  void before_service(const kube::Request& request);
  /// Somebody took away what a call of ours had brought about: it may be made again.
  void forgive() { effects_.clear(); }

 private:
  struct Call {
    simulator::RequestInfo info;
    std::uint64_t journal = 0;  ///< how long it was before
    api::Json body;
    std::string token;         ///< what the body says, or the only intent that is open
    simulator::Object before;  ///< the object that it is about
  };
  struct Open {
    const api::Evacuation* evacuation;
    std::string token;
  };

  std::vector<Open> open_intents(const std::string& ns);
  simulator::Object object_of(const simulator::RequestInfo& info, const api::Json& body) const;
  void check_intent(Call& call);
  void check_eviction(const Call& call);
  void check_hooks(const api::Evacuation& evacuation);
  void check_effects(const Call& call);
  void check_pace(const Call& call);
  void check_turn(const Call& call);
  void check_given_up(const api::Json& eviction);
  void effect(const std::string& token, const std::string& what);

  simulator::ApiServer& server_;
  Decoded<api::Evacuation>& evacuations_;
  const Report report_;
  std::optional<Call> call_;
  std::map<std::pair<std::string, std::string>, int> effects_;  ///< by token and kind
  std::map<std::string, simulator::JournalEntry> refused_;      ///< by pod: its newest eviction that was not granted
};

}  // namespace soak
