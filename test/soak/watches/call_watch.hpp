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

/// Returns true for a Job that is Complete or Failed.
bool has_ended(const api::Json& job);

/// Checks the operator's calls when they are sent, and how often they take effect: I2, I3, I4, I8, I10, I15 and I17.
/// Independent of the evictors' code: it uses the requests only.
class CallWatch {
 public:
  using Report = std::function<void(const std::string&)>;

  /// `server` and `evacuations` must outlive the object. Calls `report` for each violation.
  CallWatch(simulator::ApiServer& server, Decoded<api::Evacuation>& evacuations, Report report)
      : server_(server), evacuations_(evacuations), report_(std::move(report)) {}

  /// Call before() and after() around each call of the operator to the API server.
  void before(const kube::Request& request);
  void after();
  /// Call when another replica takes over. It cannot know answers that its predecessor received at the same instant.
  void leader_changed() { refused_.clear(); }
  /// Call before each call of the operator to the service of the evictor webhook.
  void before_service(const kube::Request& request);
  /// Forgets the effects so far, because one of them was removed externally and its call may be repeated.
  void forgive() { effects_.clear(); }

 private:
  struct Call {
    simulator::RequestInfo info;
    std::uint64_t journal = 0;  ///< length of the journal before the call
    api::Json body;
    std::string token;         ///< token in the body, else of the only open intent
    simulator::Object before;  ///< target object before the call
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
  std::map<std::pair<std::string, std::string>, int> effects_;  ///< number of effects by token and kind
  std::map<std::string, simulator::JournalEntry> refused_;      ///< newest refused eviction by pod
};

}  // namespace soak
