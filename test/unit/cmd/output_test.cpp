#include "cmd/output.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "cmd/cli.hpp"
#include "cmd/version/version.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace output_test {

using testing::HasSubstr;
using testing::IsEmpty;

/// Redirects standard output to an unwritable target for its lifetime.
class BrokenOutput {
 public:
  explicit BrokenOutput(int target) : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(target, STDOUT_FILENO);
    close(target);
  }
  ~BrokenOutput() {
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  BrokenOutput(const BrokenOutput&) = delete;
  BrokenOutput& operator=(const BrokenOutput&) = delete;

  static int full_disk() { return open("/dev/full", O_WRONLY); }
  static int pipe_without_reader() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return -1;
    close(ends[0]);
    return ends[1];
  }

 private:
  int kept_;
};

class Output : public cmd_test::CommandTest {
 protected:
  Output() : handler_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~Output() override { std::signal(SIGPIPE, handler_); }

  /// Runs a command with its standard output redirected to `target`. Returns the exit code and stores standard error in
  /// err_.
  int run_into(int target, const std::vector<std::string>& args) {
    testing::internal::CaptureStderr();
    const int code = [&] {
      const BrokenOutput broken(target);
      return run_evacuator(args);
    }();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const std::string policy_ = write("policy.yaml",
                                    "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: p}\n"
                                    "spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 1}}]}\n");
  const std::string upstream_ =
      write("upstream.yaml",
            "profiles: [{name: p, pluginConfig: [{name: RemoveDuplicates}], plugins: {balance: {enabled: "
            "[RemoveDuplicates]}}}]\n");
  const std::string dump_ = write("dump.json", R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n",)"
                                               R"( "creationTimestamp": "2026-11-22T00:00:00Z"}})"
                                               R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", )"
                                               R"("creationTimestamp": "2026-11-22T00:00:00Z"}, "spec": {}})");
  const std::vector<std::vector<std::string>> commands_ = {
      {"simulate", "--snapshot", dump_, "--policy", policy_},
      {"simulate", "--snapshot", dump_, "--policy", policy_, "-o", "json"},
      {"convert", upstream_},
      {"validate", policy_},
      {"validate", policy_, "-o", "json"},
      {"advise", "placement", "--snapshot", dump_},
      {"advise", "requests", "--snapshot", dump_, "--csv", write("rows.csv", "time,namespace,pod,container\n")},
      {"version"},
      {"--help"},
      {"completion", "bash"},
  };

 private:
  void (*handler_)(int);
};

TEST_F(Output, OfEachCommandFailsWithOneLineOnAFullDisk) {
  for (const auto& command : commands_) {
    EXPECT_EQ(run_into(BrokenOutput::full_disk(), command), 1) << command.front();
    EXPECT_THAT(err_, HasSubstr("evacuator: cannot write to standard output: No space left on device\n"))
        << command.front();
  }
}

TEST_F(Output, OfEachCommandEndsWithoutAWordWhenItsReaderHasGone) {
  for (const auto& command : commands_) {
    EXPECT_EQ(run_into(BrokenOutput::pipe_without_reader(), command), kBrokenPipeExitCode) << command.front();
    if (command.front() != "convert") {
      EXPECT_THAT(err_, IsEmpty()) << command.front();
    }
  }
}

TEST_F(Output, OfVerifyIsNotTakenForABrokenLog) {
  EXPECT_EQ(run_into(BrokenOutput::full_disk(), {"audit", "verify", write("audit.log", "")}), 2);
  EXPECT_THAT(err_, HasSubstr("evacuator: cannot write to standard output: No space left on device\n"));
}

TEST_F(Output, IsWholeAgainAfterwards) {
  EXPECT_EQ(run_into(BrokenOutput::full_disk(), {"version"}), 1);
  EXPECT_EQ(captured([] { return run_evacuator({"version"}); }), 0);
  EXPECT_EQ(out_, version_of("evacuator") + "\n");
}

TEST_F(Output, ComplaintsThatCannotBeWrittenHideNoResult) {
  testing::internal::CaptureStdout();
  const int kept = dup(STDERR_FILENO);
  const int full = BrokenOutput::full_disk();
  dup2(full, STDERR_FILENO);
  close(full);
  const int code = run_evacuator({"convert", directory_ + "/none"});
  const int good = run_evacuator({"convert", upstream_});
  dup2(kept, STDERR_FILENO);
  close(kept);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(good, 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("kind: DeschedulerPolicy"));
}

}  // namespace output_test
}  // namespace cmd
