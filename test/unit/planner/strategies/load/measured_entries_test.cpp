#include "planner/strategies/load/measured_entries.hpp"

#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"
#include "test/builders/measured.hpp"

namespace strategies {
namespace measured_entries_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;

/// Returns pods of the cluster with the name of their entry, such as "a=a b=-". "-" means no entry.
std::string matched(const std::vector<std::string>& cluster, const std::vector<std::string>& measured) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n2")).add(NodeBuilder("n1"));
  for (std::size_t i = 0; i < cluster.size(); ++i) builder.add(PodBuilder(cluster[i]).on(i % 2 == 0 ? "n2" : "n1"));
  const auto snapshot = builder.build();
  Measured usage("s", {"cpu"});
  for (const std::string& name : measured) usage.pod(name, {1});
  const scheduling::MeasuredUsage built = usage.build();
  const MeasuredEntries entries(built, *snapshot);
  std::string text;
  for (const scheduling::PodIndex pod : snapshot->pods_by_name()) {
    const std::uint32_t entry = entries.of_pod[pod];
    text += (text.empty() ? "" : " ") + snapshot->pod(pod).meta.name + "=";
    text += entry == MeasuredEntries::kNone ? "-" : built.pods[entry].name;
  }
  return text;
}

TEST(MeasuredEntries, AreFoundByNameIfEitherSideIsIncomplete) {
  EXPECT_EQ(matched({"a", "b", "c"}, {"a", "b", "c"}), "a=a b=b c=c");
  EXPECT_EQ(matched({"a", "b", "c"}, {"b"}), "a=- b=b c=-");
  EXPECT_EQ(matched({"b"}, {"a", "b", "c"}), "b=b");
  EXPECT_EQ(matched({"b", "d", "f"}, {"a", "b", "c", "e", "f", "g"}), "b=b d=- f=f");
  EXPECT_EQ(matched({"x", "y"}, {"a", "b"}), "x=- y=-");
  EXPECT_EQ(matched({"a", "b"}, {"x"}), "a=- b=-");
  EXPECT_EQ(matched({"a"}, {}), "a=-");
}

TEST(MeasuredEntries, AreSearchedOncePerMeasurement) {
  const auto snapshot = ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("a").on("n1")).build();
  const auto first = Measured("s", {"cpu"}).node("n1", {1}).pod("a", {1}).build();
  const auto second = Measured("t", {"cpu"}).build();
  MeasuredEntriesMemo memo;
  const auto known = memo.of(first, *snapshot);
  EXPECT_EQ(memo.of(first, *snapshot), known);
  EXPECT_NE(memo.of(second, *snapshot), known);
  EXPECT_EQ(known->of_node.at(0), 0U);
}

}  // namespace measured_entries_test
}  // namespace strategies
