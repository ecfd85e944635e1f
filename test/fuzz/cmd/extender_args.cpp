/// Any text as ExtenderArgs: no crash, accepted args name each node once and keep the limits, the answers are JSON that
/// the scheduler accepts, and every candidate passes or fails.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "cmd/extender/decision.hpp"
#include "cmd/extender/load_poller.hpp"

namespace {

using api::Json;

void require(bool holds) {
  if (!holds) std::abort();
}

extender::ExtenderConfig config() {
  extender::ExtenderConfig made;
  made.rules.emplace_back();
  return made;
}

/// Every other node has a load. Every sixth node has a critical load.
std::vector<std::optional<extender::NodeLoad>> some_loads(std::size_t count) {
  std::vector<std::optional<extender::NodeLoad>> loads(count);
  for (std::size_t i = 0; i < count; i += 2) loads[i] = {.mean = {i % 3 == 0 ? 99.0 : 40.0}, .deviation = {5.0}};
  return loads;
}

void check(const extender::ExtenderArgs& args) {
  const auto rules = config();
  extender::LoadModel board;
  board.resources = {"cpu"};
  board.columns = {0};
  const auto loads = some_loads(args.nodes.size());
  const auto filtered = extender::filter(rules, args, &board, loads, {});
  const Json answer = Json::parse(extender::filter_answer(args, filtered.reasons));
  const Json& passing = args.has_objects ? answer["Nodes"]["items"] : answer["NodeNames"];
  require(passing.size() + answer["FailedNodes"].size() == args.nodes.size());
  require(args.nodes.empty() || !passing.empty());
  const auto scored = extender::prioritize(rules, args, &board, loads, extender::PodHint{"a", false, "x/y"});
  const Json list = Json::parse(extender::priorities_answer(args.nodes, scored.scores));
  for (const Json& each : list) require(each["Score"] >= 0 && each["Score"] <= extender::kBestScore);
  extender::LoadPoller keeper({"cpu", "memory"});
  for (const std::string& node : args.nodes) keeper.expect(args.pod, node, base::TimePoint());
  require(keeper.placed() <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto args = extender::parse_args({reinterpret_cast<const char*>(data), size});
  if (!args) return 0;
  require(args->nodes.size() <= extender::kMaxNodes);
  require(std::set<std::string>(args->nodes.begin(), args->nodes.end()).size() == args->nodes.size());
  require(!args->has_objects || args->objects.size() == args->nodes.size());
  check(*args);
  return 0;
}
