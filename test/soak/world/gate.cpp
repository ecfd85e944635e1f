#include "test/soak/world/gate.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/json/json_access.hpp"

namespace soak {
namespace {

constexpr base::seconds kInterval{20};
/// Validity of an answer.
constexpr base::Duration kCounts = 3 * kInterval;

}  // namespace

class Gate::Client final : public controllers::GateClient {
 public:
  Client(Gate& gate, std::string replica) : gate_(gate), replica_(std::move(replica)) {}

  base::Result<std::string> ask(kube::Request request) override {
    const api::Json asked = api::Json::parse(request.body, nullptr, false);
    return gate_.answer(replica_, api::text_at(asked, {"policy"}));
  }

 private:
  Gate& gate_;
  const std::string replica_;
};

api::Json Gate::entry(Dice& dice) {
  return {{"name", "freeze"},
          {"interval", std::to_string(kInterval.count()) + "s"},
          {"onError", dice.one_in(2) ? "Hold" : "Ignore"},
          {"webhook", {{"url", "https://gate.test"}}}};
}

controllers::GateClientFactory Gate::clients_of(const std::string& replica) {
  return [this, replica](const api::UsageEndpoint&, std::size_t) { return std::make_unique<Client>(*this, replica); };
}

std::string Gate::change_mood(Dice& dice) {
  mood_ = dice.of<Mood>({Mood::kOpen, Mood::kOpen, Mood::kHolds, Mood::kHolds, Mood::kSilent, Mood::kNonsense});
  static constexpr const char* kWords[] = {"open", "holding", "silent", "talking nonsense"};
  return std::string("the gate is ") + kWords[static_cast<int>(mood_)];
}

base::Result<std::string> Gate::answer(const std::string& replica, const std::string& policy) {
  if (mood_ == Mood::kSilent) return base::unavailable("connection refused");
  if (mood_ == Mood::kNonsense) return std::string(R"({"hold": "perhaps"})");
  const bool holds = mood_ == Mood::kHolds;
  LastAnswer& told = told_[{replica, policy}];
  if (!told.holds) told.since = clock_.now();
  told.holds = holds;
  told.last = clock_.now();
  return std::string(holds ? R"({"hold": true, "message": "change freeze"})" : R"({"hold": false})");
}

std::optional<base::TimePoint> Gate::held_since(const std::string& replica, const std::string& policy) const {
  const auto told = told_.find({replica, policy});
  if (told == told_.end() || !told->second.holds || clock_.now() - told->second.last > kCounts) return std::nullopt;
  return told->second.since;
}

}  // namespace soak
