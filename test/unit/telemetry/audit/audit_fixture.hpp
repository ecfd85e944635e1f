#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/log.hpp"
#include "telemetry/audit/verify.hpp"
#include "test/fakes/temp_folder.hpp"

namespace audit_test {

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

inline audit::Record record(std::string action, std::string pod = "web-1") {
  audit::Record made;
  made.time = kNoon;
  made.actor = "evacuator/replica-1";
  made.action = std::move(action);
  made.object = {"Pod", "shop", std::move(pod), "7c1a8c1e"};
  made.policy = {"balance", 3};
  made.decision = audit::decision::kPlanned;
  made.reason = "TooOld";
  made.detail = {{"node", "node-a"}, {"token", "u-1.1"}};
  return made;
}

inline std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Temporary directory, removed after the test.
class Files : public testing::Test {
 protected:
  audit::LogOptions options() const {
    audit::LogOptions chosen;
    chosen.actor = "evacuator/replica-1";
    return chosen;
  }
  std::unique_ptr<audit::Log> open(std::size_t max_size = std::size_t{1} << 20, int max_files = 10) {
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<audit::FileSink>(audit::FileOptions{path, max_size, max_files}));
    return with(std::move(sinks));
  }
  std::unique_ptr<audit::Log> with(std::vector<std::unique_ptr<audit::Sink>> sinks) {
    return std::make_unique<audit::Log>(std::move(sinks), options(), clock, metrics, base::Log());
  }
  /// Returns every file of the log, newest last.
  std::vector<std::string> files() const {
    auto all = audit::rotated_files(path);
    all.push_back(path);
    return all;
  }
  audit::VerifyReport verified() const {
    const auto report = audit::verify(files());
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : audit::VerifyReport{};
  }
  /// Returns actions with reasons in order, such as "LogOpened/Started".
  std::vector<std::string> actions() const {
    std::vector<std::string> all;
    for (const std::string& file : files()) {
      for (const std::string& line : lines_of(read(file))) {
        const auto parsed = audit::parse_line(line);
        all.push_back(parsed ? parsed->record.action + "/" + parsed->record.reason : "?");
      }
    }
    return all;
  }

  const fakes::TempFolder folder;
  const std::string& directory = folder.path();
  std::string path = folder.file("audit.log");
  base::ManualClock clock{kNoon};
  base::Metrics metrics;
};

}  // namespace audit_test
