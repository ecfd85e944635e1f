/// The example of docs/strategies/writing-one.md, which has the text between the two markers word for word.

// begin
#include "planner/strategies/listing.hpp"

namespace strategies {

/// Nominates pods that have a label, such as one that marks an outdated sidecar.
struct RemovePodsWithLabel {
  static constexpr std::string_view kName = "RemovePodsWithLabel";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  std::string label;

  static RemovePodsWithLabel read(api::StrictObject& args) {
    RemovePodsWithLabel parsed;
    args.read("label", parsed.label);
    if (parsed.label.empty()) args.complain("label", "is required");
    return parsed;
  }

  base::Status nominate(const StrategyContext& context, NominationSink& sink) const {
    for (const NodeIndex node : context.nodes) {
      std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
      std::erase_if(pods, [&](PodIndex pod) {
        const api::StringMap& labels = context.cluster.base().pod(pod).meta.labels;
        return !labels.contains(label) || !may_leave(context, sink, pod);
      });
      if (!offer_all(sink, pods, [&](PodIndex) { return "has the label " + label; })) break;
    }
    return base::Done{};
  }
};

}  // namespace strategies
// end

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/json/strict_object.hpp"
#include "test/builders/page_example.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace writing_one_test {

using builders::NodeBuilder;
using builders::PodBuilder;

TEST(WritingAStrategy, TheExampleOffersPodsThatMayLeave) {
  builders::ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  builder.add(PodBuilder("old").on("n1").label("sidecar", "1.0"));
  builder.add(PodBuilder("plain").on("n1"));
  builder.add(PodBuilder("bare").on("n2").label("sidecar", "1.0").bare());
  const auto cluster = builder.build();
  builders::RecordingSink sink(*cluster);
  api::FieldErrors errors;
  const api::Evictability evictability;
  const scheduling::EvictabilityRules rules(evictability, *cluster, builders::kNoon, errors);
  const std::vector<NodeIndex> nodes(cluster->nodes().begin(), cluster->nodes().end());
  const scheduling::WhatIf what_if(*cluster);
  EXPECT_TRUE(RemovePodsWithLabel({"sidecar"}).nominate({what_if, nodes, rules, builders::kNoon}, sink));
  EXPECT_THAT(sink.accepted, testing::ElementsAre("old"));
  EXPECT_EQ(sink.reasons["old"], "has the label sidecar");
  EXPECT_EQ(sink.refusals["bare"], "BarePod");
}

TEST(WritingAStrategy, TheExampleRequiresItsArgument) {
  api::FieldErrors errors;
  const api::Json args = api::Json::object();
  api::StrictObject object(args, api::FieldPath("args"), errors);
  RemovePodsWithLabel::read(object);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].to_string(), "args.label: is required");
}

TEST(WritingAStrategy, ThePageHasTheExample) {
  EXPECT_EQ(builders::example_of_page("docs/strategies/writing-one.md"),
            builders::example_of_source("test/unit/planner/strategies/writing_one_test.cpp"));
}

}  // namespace writing_one_test
}  // namespace strategies
