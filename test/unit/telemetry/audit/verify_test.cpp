#include "telemetry/audit/verify.hpp"

#include <gmock/gmock.h>

#include "audit_fixture.hpp"
#include "telemetry/audit/query.hpp"
#include "telemetry/audit/signed_head.hpp"

namespace verify_test {

using namespace audit_test;
using testing::ElementsAre;
using testing::HasSubstr;

class Verify : public Files {
 protected:
  /// Returns LogOpened and nine more lines.
  std::vector<std::string> ten_lines() {
    {
      const auto log = open();
      for (int i = 1; i < 10; ++i) log->record(record("PodNominated", "web-" + std::to_string(i)));
    }
    return lines_of(read(path));
  }
  audit::VerifyReport check(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write(path, text);
    return verified();
  }
};

TEST_F(Verify, FindsAnUntouchedChainIntact) {
  const auto report = check(ten_lines());
  EXPECT_TRUE(report.intact());
  EXPECT_EQ(report.records, 10u);
  EXPECT_EQ(report.first_seq, 1u);
  EXPECT_EQ(report.head.seq, 10u);
}

struct Tamper {
  const char* name;
  const char* from;
  const char* to;
  const char* problem;
};
class TamperedField : public Verify, public testing::WithParamInterface<Tamper> {};
TEST_P(TamperedField, BreaksTheChainThere) {
  auto lines = ten_lines();
  const auto at = lines[4].find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << lines[4];
  lines[4].replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->file, path);
  EXPECT_EQ(report.broken->line, 5u);
  EXPECT_THAT(report.broken->problem, HasSubstr(GetParam().problem));
  EXPECT_EQ(report.records, 4u);
}
INSTANTIATE_TEST_SUITE_P(
    Audit, TamperedField,
    testing::Values(Tamper{"Seq", R"("seq":5)", R"("seq":6)", "changed"},
                    Tamper{"Time", "12:00:00.000000Z", "12:00:00.000001Z", "changed"},
                    Tamper{"Actor", "replica-1", "replica-2", "changed"},
                    Tamper{"Action", "PodNominated", "PodRefused", "changed"},
                    Tamper{"Kind", R"("kind":"Pod")", R"("kind":"Node")", "changed"},
                    Tamper{"Namespace", "shop", "bank", "changed"}, Tamper{"Name", "web-4", "web-5", "changed"},
                    Tamper{"Uid", "7c1a8c1e", "7c1a8c1f", "changed"}, Tamper{"Policy", "balance", "another", "changed"},
                    Tamper{"Generation", R"("generation":3)", R"("generation":4)", "changed"},
                    Tamper{"Decision", "Planned", "Refused", "changed"},
                    Tamper{"Reason", "TooOld", "TooNew", "changed"}, Tamper{"Detail", "node-a", "node-b", "changed"},
                    Tamper{"DetailKey", "token", "taken", "changed"},
                    Tamper{"PrevHash", R"("prevHash":")", R"("prevHash":"0)", "changed"},
                    Tamper{"Hash", R"("hash":")", R"("hash":"0)", "changed"},
                    Tamper{"Space", R"("seq":5,)", R"("seq":5, )", "not a valid record"},
                    Tamper{"Brace", "},", ",", "not a valid record"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Verify, ReportsADeletedLine) {
  auto lines = ten_lines();
  lines.erase(lines.begin() + 4);
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->line, 5u);
  EXPECT_EQ(report.broken->seq, 6u);
  EXPECT_EQ(report.broken->problem, "records 5 to 5 are missing");
}

TEST_F(Verify, ReportsSwappedLines) {
  auto lines = ten_lines();
  std::swap(lines[3], lines[4]);
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->line, 4u);
  EXPECT_THAT(report.broken->problem, HasSubstr("records 4 to 4 are missing"));
}

TEST_F(Verify, ReportsARepeatedLine) {
  auto lines = ten_lines();
  lines.insert(lines.begin() + 5, lines[4]);
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->line, 6u);
  EXPECT_THAT(report.broken->problem, HasSubstr("record 5 follows record 5"));
}

TEST_F(Verify, DetectsARecordThatWasRewrittenWithItsHash) {
  auto lines = ten_lines();
  auto forged = audit::parse_line(lines[4])->record;
  forged.reason = "Forged";
  lines[4] = audit::seal(forged, {4, forged.prev_hash}).text;
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->line, 6u);
  EXPECT_THAT(report.broken->problem, HasSubstr("its previous hash is not that of the preceding record"));
}

TEST_F(Verify, DetectsAnInsertedBlankLine) {
  auto lines = ten_lines();
  lines.insert(lines.begin() + 5, "");
  const auto report = check(lines);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->line, 6u);
  EXPECT_EQ(report.broken->seq, 6u);
}

TEST_F(Verify, DistinguishesATornEndFromABreak) {
  const auto lines = ten_lines();
  const std::string whole = read(path);
  write(path, whole.substr(0, whole.size() - 30));
  const auto report = verified();
  EXPECT_FALSE(report.broken);
  ASSERT_TRUE(report.torn);
  EXPECT_EQ(report.torn->line, 10u);
  EXPECT_EQ(report.records, 9u);
  EXPECT_FALSE(report.intact());
}

TEST_F(Verify, NeedsAnAnchorToDetectAMissingEnd) {
  auto lines = ten_lines();
  const audit::Head noted = audit::parse_line(lines[9])->head();
  lines.resize(8);
  EXPECT_TRUE(check(lines).intact());
  const auto report = audit::verify({path}, {.anchor = noted});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->anchor_missing);
  EXPECT_FALSE(report->intact());
  const auto earlier = audit::verify({path}, {.anchor = audit::parse_line(lines[3])->head()});
  EXPECT_TRUE(earlier->intact());
}

// --- signed heads

crypto::Key key(char filler) { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, filler)); }

class SignedHeads : public Verify {
 protected:
  /// Returns LogOpened, nine more lines and their signed head, then two unsigned lines.
  std::vector<std::string> signed_lines() {
    const auto log = open();
    log->record(record("PodNominated", "web-1"));
    log->sign_heads([] { return std::optional(key('k')); });
    for (int i = 2; i < 10; ++i) log->record(record("PodNominated", "web-" + std::to_string(i)));
    clock.advance(base::minutes(5));
    log->tick();
    log->record(record("PodNominated", "web-10"));
    return lines_of(read(path));
  }
  audit::VerifyReport checked(const std::vector<std::string>& lines, const audit::VerifyOptions& options) {
    (void)check(lines);
    const auto report = audit::verify({path}, options);
    EXPECT_TRUE(report) << report.error().message;
    return *report;
  }
  /// Returns the log as rewritten by an attacker who can write the file but has no key.
  static std::vector<std::string> rewritten(const std::vector<std::string>& lines,
                                            const std::function<void(audit::Record&)>& change) {
    std::vector<std::string> all;
    audit::Head head;
    for (const std::string& line : lines) {
      audit::Record each = audit::parse_line(line)->record;
      change(each);
      const audit::Line next = audit::seal(each, head);
      head = next.head;
      all.push_back(next.text);
    }
    return all;
  }
  const audit::VerifyOptions with_keys{.keys = {{key('k'), key('p')}}};
};

TEST_F(SignedHeads, AreWrittenWhenThereIsAKeyAndEveryFiveMinutes) {
  signed_lines();
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "PodNominated/TooOld", "HeadSigned/Signed", testing::_,
                                     testing::_, testing::_, testing::_, testing::_, testing::_, testing::_, testing::_,
                                     "HeadSigned/Signed", "PodNominated/TooOld"));
}

TEST_F(SignedHeads, AreNotRepeatedWithoutNewRecords) {
  const auto log = open();
  log->sign_heads([] { return std::optional(key('k')); });
  for (int i = 0; i < 20; ++i) {
    clock.advance(base::minutes(5));
    log->tick();
  }
  log->flush();
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "HeadSigned/Signed"));
}

TEST_F(SignedHeads, WaitForAKey) {
  std::optional<crypto::Key> known;
  const auto log = open();
  log->sign_heads([&] { return known; });
  log->record(record("A"));
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld"));
  known = key('k');
  log->tick();
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld", "HeadSigned/Signed"));
}

TEST_F(SignedHeads, SignTheLastRecordsWhenTheLogIsClosed) {
  const auto log = open();
  log->sign_heads([] { return std::optional(key('k')); });
  log->record(record("A"));
  log->flush();
  EXPECT_EQ(actions().back(), "HeadSigned/Signed");
}

TEST_F(SignedHeads, ProveTheChainUpToTheNewestOfThem) {
  const auto report = checked(signed_lines(), with_keys);
  EXPECT_TRUE(report.intact());
  EXPECT_EQ(report.signatures.good, 2U);
  EXPECT_EQ(report.signatures.proven.seq, 12U);
  EXPECT_EQ(report.head.seq, 13U);
}

TEST_F(SignedHeads, RevealThatTheWholeChainWasRewritten) {
  const auto lines = rewritten(signed_lines(), [](audit::Record& each) {
    if (each.object.name == "web-3") each.object.name = "web-4";
  });
  EXPECT_TRUE(checked(lines, {}).intact()) << "without the key nobody can tell";
  const auto report = checked(lines, with_keys);
  ASSERT_TRUE(report.broken);
  EXPECT_EQ(report.broken->seq, 12U) << "the head before the change is still good";
  EXPECT_THAT(report.broken->problem, HasSubstr("they were rewritten"));
}

class AuditVerify : public SignedHeads {};

TEST_F(AuditVerify, ARewrittenTailAfterASignedHeadIsNotIntact) {
  std::vector<std::string> lines;
  {
    const auto log = open();
    log->sign_heads([] { return std::optional(key('k')); });
    for (int i = 0; i < 12; ++i) {
      audit::Record each = record("PodNominated", "web-" + std::to_string(i));
      each.time = clock.now();
      log->record(std::move(each));
      clock.advance(base::minutes(2));
      log->tick();
    }
    lines = lines_of(read(path));
  }
  ASSERT_TRUE(checked(lines, with_keys).intact());
  bool early = true;
  std::vector<std::string> kept;
  for (const std::string& line : lines) {  // Omit all heads after the first
    const bool is_head = line.find("HeadSigned") != std::string::npos;
    if (!is_head || std::exchange(early, false)) kept.push_back(line);
  }
  const auto tail = checked(rewritten(kept, [](audit::Record&) {}), with_keys);
  EXPECT_FALSE(tail.broken);
  EXPECT_EQ(tail.signatures.good, 1U);
  EXPECT_TRUE(tail.unsigned_end);
  EXPECT_FALSE(tail.intact());
  EXPECT_TRUE(checked(kept, {}).broken.has_value()) << "links that do not fit are found without keys";
}

TEST_F(AuditVerify, AHeadOfAnotherKeyAfterAGoodOneIsNotIntact) {
  auto lines = signed_lines();
  const auto good = audit::parse_line(lines.back());
  const audit::Line forged =
      audit::seal(audit::signed_head(good->head(), "audit.log", "evacuator/a", clock.now(), key('x')), good->head());
  lines.push_back(forged.text);
  const auto report = checked(lines, with_keys);
  EXPECT_FALSE(report.broken);
  EXPECT_EQ(report.signatures.unknown_after_good, 1U);
  EXPECT_TRUE(report.unsigned_end);
}

TEST_F(SignedHeads, RevealThatSignaturesWereRemoved) {
  auto lines = signed_lines();
  std::erase_if(lines, [](const std::string& line) { return line.find("HeadSigned") != std::string::npos; });
  const auto report = checked(rewritten(lines, [](audit::Record&) {}), with_keys);
  EXPECT_FALSE(report.broken);
  EXPECT_TRUE(report.unsigned_chain);
  EXPECT_FALSE(report.intact());
}

TEST_F(SignedHeads, OfAnotherKeyProveNothing) {
  const auto report = checked(signed_lines(), {.keys = {{key('x'), {}}}});
  EXPECT_TRUE(report.unsigned_chain);
  EXPECT_EQ(report.signatures.unknown_key, 2U);
}

TEST_F(SignedHeads, FromAnotherChainDoNotFit) {
  auto lines = signed_lines();
  const auto forged = rewritten(lines, [](audit::Record& each) { each.actor = "evacuator/other"; });
  ASSERT_TRUE(checked(forged, with_keys).broken);
}

TEST_F(SignedHeads, DoNotRevealAMissingBeginningUnlessTheFirstIsRequired) {
  auto lines = signed_lines();
  lines.erase(lines.begin(), lines.begin() + 4);
  EXPECT_TRUE(checked(lines, with_keys).intact()) << "old files are deleted: that is no damage by itself";
  audit::VerifyOptions from_first = with_keys;
  from_first.from_first = true;
  const auto report = checked(lines, from_first);
  EXPECT_TRUE(report.first_missing);
  EXPECT_FALSE(report.intact());
}

TEST_F(SignedHeads, KeptElsewhereRevealAMissingEnd) {
  auto lines = signed_lines();
  const audit::Head kept = audit::parse_line(lines.back())->head();
  lines.resize(7);
  EXPECT_TRUE(checked(lines, with_keys).intact());
  audit::VerifyOptions with_head = with_keys;
  with_head.anchor = kept;
  EXPECT_TRUE(checked(lines, with_head).anchor_missing);
}

TEST_F(Verify, DoesNotMixTwoChains) {
  ten_lines();
  const std::string first = path;
  path = directory + "/other.log";
  ten_lines();
  const auto report = audit::verify({first, path});
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->broken);
  EXPECT_THAT(report->broken->problem, HasSubstr("another chain"));
}

TEST_F(Verify, SortsFiles) {
  const auto log = open(2000);
  for (int i = 0; i < 20; ++i) log->record(record("PodNominated"));
  auto all = files();
  ASSERT_GE(all.size(), 4u);
  std::reverse(all.begin(), all.end());
  std::swap(all[1], all[2]);
  const auto report = audit::verify(all);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->intact());
  EXPECT_EQ(report->records, 21u);
  std::erase(all, files()[1]);
  const auto gap = audit::verify(all);
  ASSERT_TRUE(gap->broken);
  EXPECT_EQ(gap->broken->file, files()[2]);
  EXPECT_EQ(gap->broken->line, 1u);
  EXPECT_THAT(gap->broken->problem, HasSubstr("are missing"));
}

TEST_F(Verify, ReportsAFileThatCannotBeRead) {
  EXPECT_THAT(audit::verify({directory + "/none"}).error().message, HasSubstr("/none"));
  EXPECT_THAT(audit::verify({directory}).error().message, HasSubstr(directory));
  EXPECT_THAT(audit::verify({"-", path}).error().message, HasSubstr("standard input"));
}

struct Question {
  const char* name;
  audit::Filter filter;
  std::size_t found;
};
class Query : public Verify, public testing::WithParamInterface<Question> {};
TEST_P(Query, FindsRecordsThatMatchAllConditions) {
  {
    const auto log = open();
    log->record(record("PodNominated", "web-1"));
    clock.advance(base::seconds(60));
    audit::Record other = record("CallAnswered", "ignored");
    other.time = clock.now();
    other.object = {"Evacuation", "bank", "web-1-7c1a8c1e", "e-1"};
    other.actor = "evacuator/replica-2";
    other.policy = {};
    other.decision = audit::decision::kRefused;
    other.reason = "PDBBlocked";
    other.detail["pod"] = "web-1";
    log->record(other);
  }
  const auto result = audit::query(files(), GetParam().filter);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->lines.size(), GetParam().found);
}
INSTANTIATE_TEST_SUITE_P(Audit, Query,
                         testing::Values(Question{"Everything", {}, 3}, Question{"Namespace", {.ns = "shop"}, 1},
                                         Question{"PodOfBothKinds", {.pod = "web-1"}, 2},
                                         Question{"PodInNamespace", {.ns = "bank", .pod = "web-1"}, 1},
                                         Question{"Policy", {.policy = "balance"}, 1},
                                         Question{"Action", {.action = "podnominated"}, 1},
                                         Question{"Decision", {.decision = "refused"}, 1},
                                         Question{"Reason", {.reason = "PDBBlocked"}, 1},
                                         Question{"Actor", {.actor = "replica-2"}, 1},
                                         Question{"WholeActor", {.actor = "evacuator/replica-2"}, 1},
                                         Question{"NoPartOfAnActor", {.actor = "replica"}, 0},
                                         Question{"Since", {.since = kNoon + base::seconds(60)}, 1},
                                         Question{"Until", {.until = kNoon + base::seconds(60)}, 2}),
                         [](const auto& test) { return test.param.name; });

TEST_F(Verify, QueryCountsUnreadableLinesAndKeepsTheNewest) {
  auto lines = ten_lines();
  lines[3] = "garbage";
  check(lines);
  const auto result = audit::query({path}, {.action = "PodNominated"}, 2);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->unreadable, 1u);
  ASSERT_EQ(result->lines.size(), 2u);
  EXPECT_EQ(result->lines.front().record.seq, 9u);
}

}  // namespace verify_test
