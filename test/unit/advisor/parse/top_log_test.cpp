#include "advisor/parse/top_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace advising_top_log_test {

using namespace advisor;

std::string read(std::string_view text, std::string_view ns = "", LogNotes* notes = nullptr) {
  std::string found;
  const auto told = read_top_log(text, ns, [&](const Sample& sample) {
    found += fmt::format("{} {}/{}/{} {:.10g} {:.10g}\n", base::format_time(sample.time), sample.ns, sample.pod,
                         sample.container, sample.cpu, sample.memory);
  });
  if (!told) return told.error().message;
  if (notes != nullptr) *notes = *told;
  return found;
}

const std::string kExpected =
    "2026-11-21T12:00:00Z shop/web/app 0.012 33554432\n2026-11-21T12:00:00Z shop/db/db 1 1073741824\n";

TEST(TopLog, AcceptsATimeBeforeABlock) {
  const std::string block =
      "NAMESPACE   POD   NAME   CPU(cores)   MEMORY(bytes)\nshop  web  app  12m  32Mi\nshop  db   db   1    1Gi\n";
  for (const char* time :
       {"2026-11-21T12:00:00Z", "# 2026-11-21T12:00:00Z", "#2026-11-21T13:00:00+01:00", "[2026-11-21T12:00:00Z]",
        "# 2026-11-21T13:00:00+0100", "1795262400", "# 1795262400", "[1795262400.000]"})
    EXPECT_EQ(read(std::string(time) + "\n" + block), kExpected) << time;
  EXPECT_EQ(read("\xef\xbb\xbf# 2026-11-21T12:00:00Z\r\n" + block), kExpected);
}

TEST(TopLog, AcceptsATimeBeforeEveryLine) {
  EXPECT_EQ(read("2026-11-21T12:00:00Z NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\n"
                 "2026-11-21T12:00:00Z shop web app 12m 32Mi\n2026-11-21T12:00:00Z shop db db 1 1Gi"),
            kExpected);
  EXPECT_EQ(read("1795262400 NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\n"
                 "1795262400 shop web app 12m 32Mi\n2026-11-21T13:00:00+0100 shop db db 1 1Gi"),
            kExpected);
}

TEST(TopLog, DistinguishesANumericNamespaceFromSeconds) {
  EXPECT_EQ(read("2026-11-21T12:00:00Z\n1732665600 web app 12m 32Mi\n"),
            "2026-11-21T12:00:00Z 1732665600/web/app 0.012 33554432\n");
}

TEST(TopLog, AcceptsOneNamespaceByItsFlag) {
  const std::string text = "2026-11-21T12:00:00Z\nPOD NAME CPU(cores) MEMORY(bytes)\nweb app 12m 32Mi\ndb db 1 1Gi\n";
  EXPECT_EQ(read(text, "shop"), kExpected);
  EXPECT_EQ(read(text), "line 3: the column NAMESPACE is missing: set the namespace with -n");
}

TEST(TopLog, CountsLinesThatAreNoSamples) {
  LogNotes notes;
  const std::string text =
      "2026-11-21T12:00:00Z\nerror: Metrics API not available\n\nshop web app <unknown> 32Mi\nshop web app 12m\n"
      "shop web app x 32Mi\nshop web app -5m 32Mi\na b c d e f g\nshop web app 5m <unknown>\n";
  EXPECT_EQ(read(text, "", &notes),
            "2026-11-21T12:00:00Z shop/web/app nan 33554432\n2026-11-21T12:00:00Z shop/web/app 0.005 nan\n");
  EXPECT_EQ(notes.samples, 2U);
  EXPECT_EQ(notes.unreadable, 5U);
  EXPECT_EQ(notes.first_unreadable, 2U);
}

TEST(TopLog, IgnoresTheSwapColumn) {
  EXPECT_EQ(read("2026-11-21T12:00:00Z\nNAMESPACE POD NAME CPU(cores) MEMORY(bytes) SWAP(bytes)\n"
                 "shop web app 12m 32Mi 0Mi\nshop db db 1 1Gi 0Mi\n"),
            kExpected);
  EXPECT_EQ(read("2026-11-21T12:00:00Z\nPOD NAME CPU(cores) MEMORY(bytes) SWAP(bytes)\nweb app 12m 32Mi 0Mi\n"
                 "db db 1 1Gi 0Mi\n",
                 "shop"),
            kExpected);
}

TEST(TopLog, RefusesAListOfPodsOrNodes) {
  const std::string told = "the log lists no containers: record it with `kubectl top pods -A --containers`";
  for (const char* header :
       {"NAMESPACE NAME CPU(cores) MEMORY(bytes)", "NAME CPU(cores) MEMORY(bytes)",
        "NAME CPU(cores) CPU% MEMORY(bytes) MEMORY%", "NAME CPU(cores) CPU(%) MEMORY(bytes) MEMORY(%)"})
    EXPECT_EQ(read("2026-11-21T12:00:00Z\n" + std::string(header) + "\nshop web 12m 32Mi\n", "shop"),
              "line 2: " + told);
  LogNotes notes;
  EXPECT_EQ(read("2026-11-21T12:00:00Z node-1 134m 3% 250Mi 5%", "", &notes), "") << "without a header";
  EXPECT_EQ(notes.unreadable, 1U);
}

TEST(TopLog, RequiresTimes) {
  const std::string asked = "a sample before the first time: write `date -u +%FT%TZ` before each `kubectl top`";
  EXPECT_EQ(read("NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\nshop web app 12m 32Mi\n"), "line 2: " + asked);
  EXPECT_EQ(read("Sat Nov 21 12:00:00 UTC 2026\nshop web app 12m 32Mi\n"),
            "line 2: " + asked + " (line 1 is not a time such as 2026-11-21T12:00:00Z)");
  EXPECT_EQ(read(""), "");
}

}  // namespace advising_top_log_test
