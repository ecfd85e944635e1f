#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/cli/completion.hpp"
#include "cmd/evacuation_view.hpp"
#include "cmd/table.hpp"

namespace cmd {
namespace view_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Table, PadsColumnsLikeKubectl) {
  Table table({"NAME", "PHASE"});
  table.add_row({"web-1", "Pending"});
  table.add_row({"a-longer-name"});
  EXPECT_EQ(table.render(), "NAME            PHASE\nweb-1           Pending\na-longer-name   -\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table({"BAR", "X"});
  table.add_row({bar(0.5, 4), "y"});
  EXPECT_EQ(table.render("  "), "  BAR    X\n  \u2588\u2588\u2591\u2591   y\n");
}

TEST(FirstNames, AreFollowedByHowManyAreLeft) {
  EXPECT_EQ(first_names({}, 2), "");
  EXPECT_EQ(first_names({"a", "b"}, 2), "a, b");
  EXPECT_EQ(first_names({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(EvacuationCells, EscapeControlCharacters) {
  api::Evacuation made;
  made.spec.pod_ref.name = "web\033]0;owned\a\n";
  EXPECT_EQ(evacuation_cells(made, {})[1], "web ]0;owned  ");
}

TEST(Bar, ClampsInvalidValues) {
  EXPECT_EQ(bar(7, 2), "\u2588\u2588");
  EXPECT_EQ(bar(-1, 2), "\u2591\u2591");
  EXPECT_EQ(bar(0.0 / 0.0, 2), "\u2591\u2591");
}

TEST(EvacuationCells, ShowBlockerAndProgress) {
  api::Evacuation made;
  made.meta.ns = "shop";
  made.spec.pod_ref.name = "api-0";
  made.spec.node_name = {"node-1"};
  made.status.phase = api::EvacuationPhase::kRequesting;
  made.status.evictor = "eviction-api";
  made.status.progress = 40;
  made.status.blocked_by = {{.kind = "PodDisruptionBudget", .name = "api", .current_healthy = 3, .desired_healthy = 3}};
  EXPECT_THAT(evacuation_cells(made, made.meta.creation_timestamp + base::seconds(5)),
              ElementsAre("shop", "api-0", "node-1", "eviction-api", "Requesting", "40%", "",
                          "PDB api (needs 3, has 3)", "5s"));
}

TEST(EvacuationCells, NameTheReasonOfABadEnd) {
  api::Evacuation made;
  made.status.phase = api::EvacuationPhase::kCancelled;
  made.status.reason = "UserCancelled";
  made.status.blocked_by = {{.kind = "Limit", .name = "node"}};
  EXPECT_EQ(evacuation_cells(made, {})[4], "Cancelled/UserCancelled");
  EXPECT_EQ(blocked_by(made), "");
}

TEST(Completion, KnowsEveryCommandAndFlag) {
  const std::vector<CommandCompletion> commands = {{"run", "Run it", {"--config"}}, {"demo", "Watch it", {"--port"}}};
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell, commands);
    EXPECT_THAT(script, HasSubstr("run")) << shell;
    EXPECT_THAT(script, HasSubstr("port")) << shell;
  }
}

TEST(Completion, KnowsSubcommands) {
  const std::vector<CommandCompletion> commands = {{"audit", "Check", {"--pod"}, {"verify", "query"}}};
  EXPECT_THAT(completion_script("bash", commands), HasSubstr("below=\"verify query\""));
  EXPECT_THAT(completion_script("fish", commands), HasSubstr("'__fish_seen_subcommand_from audit' -f -a query"));
}

}  // namespace view_test
}  // namespace cmd
