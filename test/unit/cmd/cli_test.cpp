#include "cmd/cli.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <regex>
#include <sstream>

#include "cmd/version/version.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace cli_test {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class EvacuatorCli : public cmd_test::CommandTest {
 protected:
  int run(const std::vector<std::string>& args) {
    return captured([&] { return run_evacuator(args); });
  }
  int run_plugin(const std::vector<std::string>& args) {
    out_ = err_ = "";
    const base::SystemClock clock;
    plugin::Io io{.out = [&](std::string_view text) { out_ += text; },
                  .err = [&](std::string_view text) { err_ += text; },
                  .nap = [](base::milliseconds) { return false; },
                  .ask = [](std::string_view) { return std::nullopt; },
                  .clock = clock};
    return plugin::run(args, io);
  }
};

TEST_F(EvacuatorCli, PrintsNameAndVersion) {
  EXPECT_EQ(run({"--version"}), 0) << err_;
  EXPECT_THAT(out_, MatchesRegex("evacuator " EVACUATOR_VERSION " [(]commit [0-9a-z-]+[)]\n"));
  const std::string by_flag = out_;
  EXPECT_EQ(run({"version"}), 0);
  EXPECT_EQ(out_, by_flag);
  EXPECT_EQ(run_plugin({"--version"}), 0) << err_;
  EXPECT_EQ(out_, "kubectl-" + by_flag);
}

TEST_F(EvacuatorCli, NamesItsCommit) {
  EXPECT_EQ(run({"version", "--json"}), 0);
  EXPECT_THAT(out_, HasSubstr(std::string(R"(,"commit":")") + build_commit() + "\""));
  EXPECT_THAT(build_commit(), MatchesRegex("[0-9a-f]+(-dirty)?|unknown"));
}

TEST_F(EvacuatorCli, RefusesUnknownArguments) {
  EXPECT_EQ(run({"nonsense"}), 2);
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"run", "--nonsense"}), 2);
}

TEST_F(EvacuatorCli, SaysWhichCommandWasUsedWrongly) {
  run({"convrt", "policy.yaml"});
  EXPECT_EQ(err_,
            "evacuator: unknown command \"convrt\", did you mean \"convert\"?\nRun `evacuator --help` for usage.\n");
  EXPECT_EQ(run_plugin({"aprove", "--all"}), 1);
  EXPECT_EQ(err_, "error: unknown command \"aprove\", did you mean \"approve\"?\nSee: kubectl evacuator --help\n");
  EXPECT_EQ(run_plugin({"drain", "node", "n1"}), 1);
  EXPECT_THAT(err_, HasSubstr("error: unknown command \"drain\"")) << "though a later word is a command";
  run({"simulate", "--snapshot", "dump.json"});
  EXPECT_EQ(err_, "evacuator simulate: --policy is required\nRun `evacuator simulate --help` for usage.\n");
  run({"audit", "query", "--nonsense"});
  EXPECT_THAT(err_, HasSubstr("Run `evacuator audit query --help`"));
}

TEST_F(EvacuatorCli, TakesFilesAsKubectlDoes) {
  const std::string policy = write("upstream.yaml",
                                   "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: [{name: p, "
                                   "pluginConfig: [{name: RemoveDuplicates}], plugins: {balance: {enabled: "
                                   "[RemoveDuplicates]}}}]\n");
  EXPECT_EQ(run({"convert", "-f", policy}), 0) << err_;
  const std::string converted = out_;
  EXPECT_EQ(run({"convert", policy}), 0) << err_;
  EXPECT_EQ(out_, converted);
  const std::string ours = write("ours.yaml", converted);
  EXPECT_EQ(run({"validate", "-f", ours, "-f", ours}), 0) << err_;
  EXPECT_EQ(run({"validate", ours}), 0) << err_;
}

TEST_F(EvacuatorCli, HelpOfACommandShowsItsOwnExamplesOnly) {
  const std::vector<std::string> commands = {"run",     "simulate",      "explain",   "validate",
                                             "convert", "webhook-check", "extender",  "advise",
                                             "version", "audit",         "completion"};
  for (const std::string& command : commands) {
    EXPECT_EQ(run({command, "--help"}), 0) << err_;
    for (const std::string& other : commands) {
      if (other != command) {
        EXPECT_THAT(out_, Not(HasSubstr("\n  evacuator " + other + " "))) << command;
      }
    }
  }
  EXPECT_EQ(run({"run", "--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("Examples:\n  evacuator run "));
  EXPECT_EQ(run({"audit", "query", "--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("Examples:\n  evacuator audit query "));
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("evacuator simulate "));
}

TEST_F(EvacuatorCli, HelpOfAPluginCommandShowsItsOwnExamplesOnly) {
  for (const char* command : {"pod", "node", "status", "watch", "cancel", "approve", "explain", "uninstall"}) {
    EXPECT_EQ(run_plugin({command, "--help"}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr(std::string("Examples:\n  kubectl evacuator ") + command + " "));
    if (command != std::string("status")) {
      EXPECT_THAT(out_, Not(HasSubstr("kubectl evacuator status")));
    }
  }
}

TEST_F(EvacuatorCli, HelpShowsThePlaceholderOfAFlagInCapitals) {
  const std::regex flag(R"(  (-[a-z],)?--[a-z-]+( [A-Z][A-Z|:]*(\{[^ ]*\})?(=[^ ]*)?)?( \.\.\.)?( REQUIRED.*|  .*)?)");
  for (const char* command : {"run", "simulate", "explain", "validate", "convert", "extender"}) {
    EXPECT_EQ(run({command, "--help"}), 0) << err_;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(!line.starts_with("  -") || std::regex_match(line, flag)) << command << ": " << line;
    }
  }
}

TEST_F(EvacuatorCli, HelpDescribesTheSearchForTheKubeconfig) {
  EXPECT_EQ(run({"run", "--help"}), 0);
  const auto in_cluster = out_.find("service");
  EXPECT_LT(out_.find("$KUBECONFIG"), in_cluster);
  EXPECT_LT(in_cluster, out_.find("~/.kube/config"));
}

int run_without_reader(const std::vector<std::string>& args) {
  std::array<int, 2> ends{};
  std::signal(SIGPIPE, SIG_IGN);
  if (pipe(ends.data()) != 0 || close(ends[0]) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) return -1;
  return run_evacuator(args);
}

TEST(EvacuatorCliDeathTest, AClosedPipeIsNoCrash) {
  EXPECT_EXIT(_exit(run_without_reader({"version"})), testing::ExitedWithCode(141), "");
}

}  // namespace cli_test
}  // namespace cmd
