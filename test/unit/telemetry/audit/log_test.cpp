#include "telemetry/audit/log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "audit_fixture.hpp"
#include "telemetry/audit/stdout_sink.hpp"

namespace log_test {

using namespace audit_test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class AuditLog : public Files {};

TEST_F(AuditLog, ContinuesAfterRestarts) {
  open()->record(record("A"));
  open()->record(record("B"));
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld", "LogOpened/Resumed", "B/TooOld"));
  EXPECT_TRUE(verified().intact());
  EXPECT_EQ(verified().head.seq, 4u);
}

TEST_F(AuditLog, FillsInTimeAndActor) {
  audit::Record bare;
  bare.action = "A";
  open()->record(bare);
  const auto line = audit::parse_line(lines_of(read(path)).back());
  EXPECT_EQ(line->record.time, kNoon);
  EXPECT_EQ(line->record.actor, "evacuator/replica-1");
}

TEST_F(AuditLog, ContinuesAfterRotationsAndKeepsTheNewest) {
  const auto log = open(3000, 3);
  for (int i = 0; i < 40; ++i) log->record(record("A"));
  EXPECT_EQ(audit::rotated_files(path).size(), 2u);
  const auto report = verified();
  EXPECT_TRUE(report.intact());
  EXPECT_EQ(report.head.seq, 41u);
  EXPECT_GT(report.first_seq, 20u);
  for (const std::string& file : files()) EXPECT_LE(read(file).size(), 3000u) << file;
}

TEST_F(AuditLog, RecordsEachRotationWithAnAnchor) {
  std::vector<std::pair<std::string, audit::Head>> told;
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  sinks.push_back(std::make_unique<audit::FileSink>(
      audit::FileOptions{path, 2000, 10}, [&](const auto& file, const auto& head) { told.emplace_back(file, head); }));
  const auto log = with(std::move(sinks));
  for (int i = 0; i < 9; ++i) log->record(record("A"));
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(audit::verify(files(), {.anchor = told.front().second})->intact());
  EXPECT_EQ(told.front().first, path + ".000000000001");
}

TEST_F(AuditLog, ContinuesAfterACrashBetweenTwoFiles) {
  open()->record(record("A"));
  std::filesystem::rename(path, path + ".000000000001");
  open()->record(record("B"));
  EXPECT_TRUE(verified().intact());
  EXPECT_EQ(verified().head.seq, 4u);
}

TEST_F(AuditLog, NeverRenamesOverAnotherFile) {
  write(path + ".000000000001", "somebody's\n");
  const auto log = open(1000);
  for (int i = 0; i < 6; ++i) log->record(record("A"));
  EXPECT_EQ(read(path + ".000000000001"), "somebody's\n");
  EXPECT_TRUE(std::filesystem::exists(path + ".000000000001-1"));
}

struct Torn {
  const char* name;
  std::size_t keep_of_last_line;  ///< In bytes
  bool newline;
  bool is_torn;
};
class TornEnd : public Files, public testing::WithParamInterface<Torn> {};
TEST_P(TornEnd, IsRecordedAndPassed) {
  open()->record(record("A"));
  const std::string whole = read(path);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  const std::size_t length = whole.size() - 1 - last;
  write(path,
        whole.substr(0, last + std::min(GetParam().keep_of_last_line, length)) + (GetParam().newline ? "\n" : ""));
  open()->record(record("B"));
  const auto report = verified();
  EXPECT_TRUE(report.intact()) << (report.broken ? report.broken->problem : "");
  EXPECT_EQ(read(path).find(audit::kTornSha256) != std::string::npos, GetParam().is_torn);
  EXPECT_EQ(report.records, GetParam().is_torn ? 3u : 4u);
  // A record whose hash is covered by the chain cannot be changed afterwards.
  std::string text = read(path);
  if (!GetParam().is_torn || GetParam().keep_of_last_line < 3) return;
  text[last + 1] = '#';
  write(path, text);
  EXPECT_TRUE(verified().broken);
}
INSTANTIATE_TEST_SUITE_P(Audit, TornEnd,
                         testing::Values(Torn{"OneByte", 1, false, true}, Torn{"Half", 200, false, true},
                                         Torn{"HalfWithNewline", 200, true, true},
                                         Torn{"AllButTheNewline", 10'000, false, false},
                                         Torn{"Untouched", 10'000, true, false}),
                         [](const auto& test) { return test.param.name; });

TEST_F(AuditLog, BearsAFileThatIsTornFromTheFirstByte) {
  write(path, R"({"seq":1,"ti)");
  open()->record(record("A"));
  EXPECT_TRUE(verified().intact());
  EXPECT_EQ(verified().records, 2u);
}

TEST_F(AuditLog, RefusesAFileThatIsNoAuditLog) {
  write(path, std::string(2'000'000, 'x'));
  const auto log = open();
  ASSERT_TRUE(log->failure());
  EXPECT_THAT(log->failure()->message, HasSubstr("move it away"));
  EXPECT_EQ(read(path).size(), 2'000'000u);
}

TEST_F(AuditLog, RefusesASecondWriterAndOddFiles) {
  const auto first = open();
  EXPECT_THAT(open()->failure()->message, HasSubstr("written by another process"));
  path = "/dev/full";
  EXPECT_THAT(open()->failure()->message, HasSubstr("not a regular file"));
  path = directory + "/none/audit.log";
  EXPECT_THAT(open()->failure()->message, HasSubstr("No such file or directory"));
}

/// Sink that fails on request. A failed append may leave half a line, like a full disk does.
class Moody final : public audit::Sink {
 public:
  struct State {
    bool fails = false;
    bool leaves_half = false;
    std::string text;
    int opened = 0;
  };
  explicit Moody(State& state) : state_(state) {}
  std::string_view name() const override { return "moody"; }
  base::Result<audit::Opened> open() override {
    ++state_.opened;
    if (state_.fails) return base::unavailable("still full");
    const audit::Tail tail = audit::read_tail(state_.text);
    if (!tail.ends_with_newline) state_.text += "\n";
    audit::Opened opened;
    if (tail.last) opened.head = tail.last->head();
    if (tail.torn) opened.torn = audit::Torn{tail.torn->size(), crypto::sha256(*tail.torn)};
    return opened;
  }
  base::Status append(const audit::Line& line) override {
    if (state_.fails) {
      if (state_.leaves_half) state_.text += line.text.substr(0, line.text.size() / 2);
      return base::unavailable("No space left on device");
    }
    state_.text += line.text + "\n";
    return base::Done{};
  }
  base::Status sync() override {
    if (state_.fails) return base::unavailable("sync failed");
    return base::Done{};
  }

 private:
  State& state_;
};

class FullDisk : public Files, public testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<audit::Log> open_moody(std::size_t buffer = 100) {
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<Moody>(disk));
    audit::LogOptions chosen = options();
    chosen.buffer = buffer;
    return std::make_unique<audit::Log>(std::move(sinks), chosen, clock, metrics, base::Log());
  }
  audit::VerifyReport checked() {
    write(path, disk.text);
    return verified();
  }
  Moody::State disk;
};

TEST_P(FullDisk, IsReportedAndEndsWithoutAGap) {
  disk.leaves_half = GetParam();
  const auto log = open_moody();
  std::vector<std::string> health;
  log->watch([&](const auto& failure) { health.push_back(failure ? failure->message : "well"); });
  log->record(record("Before"));
  disk.fails = true;
  for (int i = 0; i < 5; ++i) log->record(record("Meanwhile"));
  EXPECT_THAT(health, ElementsAre("well", "No space left on device"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_audit_failing{sink="moody"} 1)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_audit_buffered{sink="moody"} 5)"));
  log->tick();
  EXPECT_EQ(disk.opened, 1) << "tried again too soon";
  disk.fails = false;
  clock.advance(base::seconds(1));
  log->tick();
  log->record(record("After"));
  EXPECT_THAT(health, ElementsAre("well", "No space left on device", "well"));
  EXPECT_TRUE(checked().intact());
  std::vector<std::string> found = actions();
  std::erase(found, "?");
  EXPECT_THAT(found, ElementsAre("LogOpened/Started", "Before/TooOld", "LogOpened/Recovered", "Meanwhile/TooOld",
                                 "Meanwhile/TooOld", "Meanwhile/TooOld", "Meanwhile/TooOld", "Meanwhile/TooOld",
                                 "After/TooOld"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_audit_failing{sink="moody"} 0)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_audit_failures_total{sink="moody"} 1)"));
}
INSTANTIATE_TEST_SUITE_P(Audit, FullDisk, testing::Bool(),
                         [](const auto& test) { return test.param ? "LeavingHalfALine" : "LeavingNothing"; });

class ClockStep : public FullDisk {};

TEST_F(ClockStep, OfAnHourBackDoesNotStopTheAuditLogFromBeingTriedAgain) {
  base::ManualClock wall{kNoon};
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  sinks.push_back(std::make_unique<Moody>(disk));
  audit::Log log(std::move(sinks), options(), wall, metrics, base::Log(), &clock);
  disk.fails = true;
  log.record(record("Meanwhile"));
  ASSERT_TRUE(log.failure());
  disk.fails = false;
  wall.set(kNoon - base::minutes(60));
  clock.advance(base::seconds(1));
  log.tick();
  EXPECT_FALSE(log.failure());
  disk.fails = true;
  clock.advance(base::seconds(1));
  log.tick();
  EXPECT_TRUE(log.failure()) << "it syncs on, too";
}

TEST_F(FullDisk, RecordsWhatItHadToDrop) {
  const auto log = open_moody(3);
  disk.fails = true;
  for (int i = 0; i < 8; ++i) {
    audit::Record each = record("R" + std::to_string(i));
    each.time = kNoon + base::seconds(i);
    log->record(each);
  }
  disk.fails = false;
  clock.advance(base::seconds(5));
  log->tick();
  log->record(record("After"));
  EXPECT_TRUE(checked().intact());
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "LogOpened/Recovered", "R0/TooOld", "R1/TooOld", "R2/TooOld",
                                     "RecordsLost/BufferFull", "After/TooOld"));
  const auto lost = audit::parse_line(lines_of(disk.text)[5])->record;
  EXPECT_EQ(lost.detail.at("count"), "5");
  EXPECT_EQ(lost.detail.at("from"), "2026-11-21T12:00:03.000000Z");
  EXPECT_EQ(lost.detail.at("to"), "2026-11-21T12:00:07.000000Z");
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_audit_lost_total{sink="moody"} 5)"));
}

TEST_F(FullDisk, AtTheStartBuffersTheRecordsToo) {
  disk.fails = true;
  const auto log = open_moody();
  EXPECT_TRUE(log->failure());
  log->record(record("A"));
  disk.fails = false;
  clock.advance(base::seconds(1));
  log->tick();
  EXPECT_TRUE(checked().intact());
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld"));
}

TEST_F(FullDisk, OfOneSinkDoesNotBlockTheOther) {
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  sinks.push_back(std::make_unique<Moody>(disk));
  sinks.push_back(std::make_unique<audit::FileSink>(audit::FileOptions{.path = path}));
  const auto log = with(std::move(sinks));
  disk.fails = true;
  log->record(record("A"));
  EXPECT_THAT(actions(), Contains("A/TooOld"));
  EXPECT_TRUE(log->failure());
  EXPECT_EQ(log->head(0).seq, 1u);
  EXPECT_EQ(log->head(1).seq, 2u);
}

/// Causes a real short write by limiting the size of the file.
TEST_F(AuditLog, RevertsAShortWrite) {
  const auto log = open();
  log->record(record("A"));
  const std::size_t good = read(path).size();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{good + 100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  log->record(record("B"));
  const std::size_t after_failure = read(path).size();
  const auto failure = log->failure();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->message, HasSubstr("File too large"));
  EXPECT_EQ(after_failure, good);
  clock.advance(base::seconds(1));
  log->tick();
  EXPECT_FALSE(log->failure());
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld", "LogOpened/Recovered", "B/TooOld"));
  EXPECT_TRUE(verified().intact());
}

TEST_F(AuditLog, NoticesThatItsFileWasTakenAway) {
  const auto log = open();
  log->record(record("A"));
  std::filesystem::rename(path, directory + "/taken");
  clock.advance(base::seconds(2));
  log->tick();
  EXPECT_THAT(log->failure()->message, HasSubstr("moved or deleted"));
  clock.advance(base::seconds(2));
  log->record(record("B"));
  EXPECT_FALSE(log->failure());
  EXPECT_TRUE(audit::verify({path, directory + "/taken"})->intact());
}

TEST_F(AuditLog, DoesNotHideThatItsFileWasCut) {
  const auto log = open();
  for (int i = 0; i < 5; ++i) log->record(record("A"));
  const auto lines = lines_of(read(path));
  write(path, lines[0] + "\n" + lines[1] + "\n");
  for (int i = 0; i < 2; ++i) {
    clock.advance(base::seconds(2));
    log->tick();
  }
  log->record(record("B"));
  EXPECT_THAT(actions(), Contains("LogOpened/TailChanged"));
  EXPECT_TRUE(verified().broken);
}

TEST_F(AuditLog, AcceptsRecordsFromManyThreads) {
  const auto log = open(20'000);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) log->record(record("A"));
      });
    }
  }
  const auto report = audit::verify(files());
  EXPECT_FALSE(report->broken) << report->broken->problem;
  EXPECT_EQ(report->head.seq, 401u);
}

TEST_F(AuditLog, ToAPipeIsAChainThatVerifies) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  {
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<audit::StdoutSink>(ends[1]));
    const auto log = with(std::move(sinks));
    log->record(record("A"));
    EXPECT_FALSE(log->failure());
  }
  close(ends[1]);
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
  close(ends[0]);
  write(path, text);
  EXPECT_THAT(actions(), ElementsAre("LogOpened/Started", "A/TooOld"));
  EXPECT_TRUE(verified().intact());
}

TEST_F(AuditLog, ToAFullDeviceFailsLoudly) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  sinks.push_back(std::make_unique<audit::StdoutSink>(full));
  const auto log = with(std::move(sinks));
  EXPECT_THAT(log->failure()->message, HasSubstr("No space left on device"));
  close(full);
}

}  // namespace log_test
