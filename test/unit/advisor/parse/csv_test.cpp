#include "advisor/parse/csv.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace advising_csv_test {

using namespace advisor;

std::string read(std::string_view text) {
  std::string found;
  const auto rows = read_history_csv(
      text, {[&](const Sample& sample) {
               found += fmt::format("{} {}/{}/{} {:.10g} {:.10g}\n", base::format_time(sample.time), sample.ns,
                                    sample.pod, sample.container, sample.cpu, sample.memory);
             },
             [&](const ContainerKey& key, Day day, const DayUsage& usage) { found += day_csv_row(key, day, usage); }});
  return rows ? found : rows.error().message;
}

TEST(HistoryCsv, ReadsSamples) {
  EXPECT_EQ(read("# mine\ntime,namespace,pod,container,cpu,memory\n2026-11-21T12:00:00Z,shop,web,app,250m,64Mi\n\n"
                 "2026-11-21T12:00:00Z, \"shop\" ,web,app,,-5\r\n"
                 "2026-11-21T12:00:00Z,shop,web,app,-250m,-1Ki\n"),
            "2026-11-21T12:00:00Z shop/web/app 0.25 67108864\n2026-11-21T12:00:00Z shop/web/app nan -5\n"
            "2026-11-21T12:00:00Z shop/web/app -0.25 -1024\n");
  EXPECT_EQ(read("CPU,Time,container,Pod,namespace\n0.5,2026-11-21T12:00:00Z,app,web,shop\n"),
            "2026-11-21T12:00:00Z shop/web/app 0.5 nan\n");
}

TEST(HistoryCsv, RoundTripsDays) {
  const DayUsage full{288, std::chrono::hours(24), 1.5, 0.25, 0.75, 4, 1 << 30, 1 << 29, 0.25, 3};
  const DayUsage bare{5, base::minutes(25), kUnknown, kUnknown, kUnknown, kUnknown, 2e6, kUnknown, kUnknown, 0};
  const ContainerKey key{{"shop", "Deployment", "web"}, "app"};
  const std::string rows = day_csv_row(key, 20000, full) + day_csv_row(key, 20001, bare);
  EXPECT_EQ(read(std::string(day_csv_header()) + rows), rows);
  EXPECT_EQ(day_csv_row(key, 20000, full),
            "2024-10-04,shop,Deployment,web,app,288,24h0m0s,1.500,0.250,0.750,4.000,1073741824,536870912,0.250,3\n");
}

TEST(HistoryCsv, ReportsErrorsWithTheirLine) {
  const std::string samples = "time,namespace,pod,container,cpu\n";
  const std::string days = "day,namespace,kind,workload,container,samples,covered\n";
  const std::pair<std::string, const char*> table[] = {
      {"a,b\n", "line 1: expected a header: time,namespace,pod,container,cpu,memory or day,namespace,kind,…"},
      {"time;namespace;pod;container\n",
       "line 1: expected a header: time,namespace,pod,container,cpu,memory or day,namespace,kind,…; only commas "
       "separate cells"},
      {"time,pod,container\n", "line 1: column namespace is missing"},
      {"time,namespace,pod,container,cpu,cpu\n", "line 1: column cpu occurs twice"},
      {"time,namespace,pod,container,disk\n", "line 1: unknown column \"disk\""},
      {samples + "yesterday,a,b,c,1\n",
       "line 2: time: must be an RFC 3339 time such as 2026-11-21T12:00:00Z, with an offset or Z"},
      {samples + "2026-11-21T12:00:00Z,a,b,c\n", "line 2: the row has 4 cells, its header 5"},
      {samples + "2026-11-21T12:00:00Z,a,b,c,much\n", "line 2: cpu: \"much\" is not a quantity such as 250m or 64Mi"},
      {samples + "2026-11-21T12:00:00Z,a,,c,1\n", "line 2: a name is missing"},
      {days + "2026-11-31,a,b,c,d,1,1h\n", "line 2: day: must be a date such as 2026-11-21"},
      {days + "2026-11-21,a,b,c,d,1,25h\n", "line 2: covered: must be a duration of at most 24h"},
      {days + "2026-11-21,a,b,c,d,-1,1h\n", "line 2: samples: \"-1\" is not a valid count"},
  };
  for (const auto& [text, message] : table) EXPECT_EQ(read(text), message);
  EXPECT_EQ(read(""), "");
}

}  // namespace advising_csv_test
