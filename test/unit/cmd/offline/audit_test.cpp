#include "cmd/commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/log.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace audit_test {

using testing::HasSubstr;
using testing::Not;

class AuditCommand : public cmd_test::CommandTest {
 protected:
  AuditCommand() {
    base::ManualClock clock(*base::parse_time("2026-11-21T12:00:00Z"));
    base::Metrics metrics;
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<audit::FileSink>(audit::FileOptions{.path = path_}));
    audit::Log log(std::move(sinks), {.actor = "evacuator/a"}, clock, metrics, base::Log());
    for (const char* pod : {"web-1", "web-2"}) {
      audit::Record record;
      record.action = "PodNominated";
      record.object = {"Pod", "shop", pod, "u-1"};
      record.policy = {"balance", 2};
      record.decision = audit::decision::kPlanned;
      record.reason = "TooOld";
      record.detail = {{"node", "node-a"}};
      log.record(record);
    }
    head_ = log.head();
  }

  void rewrite(const std::function<void(std::string&)>& change) {
    std::string text((std::istreambuf_iterator<char>(std::ifstream(path_).rdbuf())), {});
    change(text);
    std::ofstream(path_, std::ios::trunc) << text;
  }
  int verify(AuditVerifyOptions options) {
    if (options.files.empty()) options.files = {path_};
    return captured([&] { return run_audit_verify(options); });
  }
  int query(AuditQueryOptions options) {
    if (options.files.empty()) options.files = {path_};
    return captured([&] { return run_audit_query(options); });
  }

  const std::string path_ = folder_.file("audit.log");
  audit::Head head_;
};

TEST_F(AuditCommand, VerifyEndsWith0WhenIntact) {
  EXPECT_EQ(verify({}), 0);
  EXPECT_THAT(out_, HasSubstr("intact: 3 records, up to 3:" + head_.hash));
  EXPECT_EQ(verify({.contains = "3:" + head_.hash}), 0);
}

TEST_F(AuditCommand, VerifyEndsWith1AndNamesTheFirstBrokenLink) {
  rewrite([](std::string& text) { text.replace(text.find("web-1"), 5, "web-9"); });
  EXPECT_EQ(verify({}), 1);
  EXPECT_THAT(out_, HasSubstr("BROKEN: " + path_ + ":2: seq 2: the record was changed"));
  EXPECT_EQ(verify({.output = "json"}), 1);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["intact"], false);
  EXPECT_EQ(json["broken"]["line"], 2);
}

TEST_F(AuditCommand, VerifyEndsWith1WhenTheAnchorIsMissing) {
  rewrite([](std::string& text) { text.resize(text.rfind('\n', text.size() - 2) + 1); });
  EXPECT_EQ(verify({}), 0);
  EXPECT_EQ(verify({.contains = "3:" + head_.hash}), 1);
  EXPECT_THAT(out_, HasSubstr("MISSING: 3:" + head_.hash));
}

TEST_F(AuditCommand, VerifyReportsWhatItProves) {
  EXPECT_EQ(verify({.from_first = true}), 0);
  EXPECT_THAT(out_, HasSubstr("proven:     nothing is missing before the first record"));
  EXPECT_THAT(out_, HasSubstr("not proven: that the operator wrote the records"));
  EXPECT_THAT(out_, HasSubstr("not proven: that no records followed record 3"));
}

TEST_F(AuditCommand, VerifyEndsWith1WhenTheBeginningIsDemandedAndMissing) {
  rewrite([](std::string& text) { text.erase(0, text.find('\n') + 1); });
  EXPECT_EQ(verify({}), 0);
  EXPECT_EQ(verify({.from_first = true}), 1);
  EXPECT_THAT(out_, HasSubstr("MISSING: record 1: the chain begins with record 2"));
}

TEST_F(AuditCommand, VerifyEndsWith1WhenNoHeadIsSignedWithTheKeys) {
  const std::string keys = folder_.file("key");
  std::ofstream(keys) << std::string(32, 'k');
  EXPECT_EQ(verify({.keys = {keys}}), 1);
  EXPECT_THAT(out_, HasSubstr("NOT SIGNED"));
  std::ofstream(keys) << "short";
  EXPECT_EQ(verify({.keys = {keys}}), 2);
  EXPECT_THAT(err_, HasSubstr("a key has 32 to 1024 bytes"));
}

TEST_F(AuditCommand, VerifyEndsWith2WhenItCannotRead) {
  EXPECT_EQ(verify({.files = {directory_ + "/none"}}), 2);
  EXPECT_THAT(err_, HasSubstr("No such file"));
  EXPECT_EQ(verify({.contains = "three"}), 2);
  EXPECT_THAT(err_, HasSubstr("--contains"));
}

TEST_F(AuditCommand, VerifyEndsWith3AtAnUnfinishedEnd) {
  rewrite([](std::string& text) { text.resize(text.size() - 20); });
  EXPECT_EQ(verify({}), 3);
  EXPECT_THAT(out_, HasSubstr("UNFINISHED END: " + path_ + ":3: seq 3"));
}

TEST_F(AuditCommand, QueryPrintsATable) {
  EXPECT_EQ(query({.pod = "web-2"}), 0);
  EXPECT_THAT(out_, HasSubstr("SEQ   TIME"));
  EXPECT_THAT(out_, HasSubstr("Pod/shop/web-2"));
  EXPECT_THAT(out_, HasSubstr("node=node-a"));
  EXPECT_THAT(out_, Not(HasSubstr("web-1")));
}

TEST_F(AuditCommand, QueryPrintsJsonWithTheHash) {
  EXPECT_EQ(query({.newest = 1, .output = "json"}), 0);
  const auto json = nlohmann::json::parse(out_);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["hash"], head_.hash);
  EXPECT_EQ(json[0]["object"]["name"], "web-2");
  EXPECT_EQ(query({.output = "yaml"}), 0);
  EXPECT_THAT(out_, HasSubstr("reason: TooOld"));
}

TEST_F(AuditCommand, QueryNamesABadTime) {
  EXPECT_EQ(query({.since = "tomorrow"}), 2);
  EXPECT_THAT(err_, HasSubstr("--since"));
  EXPECT_EQ(query({.since = "2026-11-21T12:00:00Z", .until = "2026-11-21T12:00:01Z"}), 0);
  EXPECT_THAT(out_, HasSubstr("web-1"));
  EXPECT_EQ(query({.until = "2026-11-21T12:00:00Z"}), 0);
  EXPECT_EQ(out_, "No records found.\n");
}

TEST_F(AuditCommand, QueryReportsUnreadableLines) {
  rewrite([](std::string& text) { text += "garbage\n"; });
  EXPECT_EQ(query({}), 0);
  EXPECT_THAT(err_, HasSubstr("1 lines are not audit records"));
}

}  // namespace audit_test
}  // namespace cmd
