#include "telemetry/audit/query.hpp"

#include <algorithm>
#include <cctype>

#include "telemetry/audit/verify.hpp"

namespace audit {
namespace {

bool same_word(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_about_pod(const Record& record, const std::string& pod) {
  return (record.object.kind == "Pod" && record.object.name == pod) || detail_of(record, "pod") == pod;
}

bool is_by(const Record& record, const std::string& actor) {
  return record.actor == actor || record.actor == "evacuator/" + actor;
}

}  // namespace

bool matches(const Filter& filter, const Record& record) {
  const auto word = [](const std::string& wanted, const std::string& found) {
    return wanted.empty() || same_word(wanted, found);
  };
  return (filter.ns.empty() || filter.ns == record.object.ns) &&
         (filter.pod.empty() || is_about_pod(record, filter.pod)) &&
         (filter.policy.empty() || filter.policy == record.policy.name) && word(filter.action, record.action) &&
         word(filter.decision, record.decision) && word(filter.reason, record.reason) &&
         (filter.actor.empty() || is_by(record, filter.actor)) && (!filter.since || record.time >= *filter.since) &&
         (!filter.until || record.time < *filter.until);
}

base::Result<QueryResult> query(const std::vector<std::string>& files, const Filter& filter, std::size_t newest) {
  const auto ordered = sort_by_seq(files);
  if (!ordered) return ordered.error();
  QueryResult result;
  for (const std::string& file : *ordered) {
    auto read = read_lines(file, [&](std::string_view line, std::uint64_t) {
      auto parsed = parse_line(line);
      if (!parsed) {
        ++result.unreadable;
      } else if (matches(filter, parsed->record)) {
        result.lines.push_back(*std::move(parsed));
      }
      return true;
    });
    if (!read) return read.error();
  }
  if (newest > 0 && result.lines.size() > newest) {
    result.lines.erase(result.lines.begin(), result.lines.end() - static_cast<std::ptrdiff_t>(newest));
  }
  return result;
}

}  // namespace audit
