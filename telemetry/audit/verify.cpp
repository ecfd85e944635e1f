#include "telemetry/audit/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>

#include "telemetry/audit/chain.hpp"
#include "telemetry/audit/log.hpp"
#include "telemetry/audit/signed_head.hpp"

namespace audit {
namespace {

constexpr std::uint64_t kNoRecord = std::numeric_limits<std::uint64_t>::max();
/// Number of lines at the start of a file that are searched for its first record.
constexpr std::uint64_t kMaxLinesSearched = 1000;

/// Tolerated delay between the time a signature is due and the signature.
constexpr base::seconds kSigningLag{60};

bool next_line(std::streambuf& in, std::string& line) {
  line.clear();
  int c = in.sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  for (; c != std::char_traits<char>::eof() && c != '\n'; c = in.sbumpc()) {
    if (line.size() <= kMaxLine) line.push_back(static_cast<char>(c));
  }
  return true;
}

base::Result<std::uint64_t> first_seq(const std::string& file) {
  std::uint64_t first = kNoRecord;
  auto read = read_lines(file, [&](std::string_view line, std::uint64_t number) {
    if (const auto parsed = parse_line(line)) first = parsed->record.seq;
    return first == kNoRecord && number < kMaxLinesSearched;
  });
  if (!read) return read.error();
  return first;
}

/// Runs all files through one ChainChecker and records the first broken link.
class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options) : options_(options) {}

  base::Status check_file(const std::string& file) {
    report_.files.push_back({file, 0, 0, 0});
    return read_lines(file, [&](std::string_view line, std::uint64_t number) {
      check_line(line, number);
      return !report_.broken;
    });
  }

  bool is_broken() const { return report_.broken.has_value(); }

  VerifyReport finish() && {
    report_.records = checker_.records();
    report_.first_seq = checker_.first_seq();
    report_.head = checker_.head();
    if (!report_.broken && checker_.has_unreadable_tail()) report_.torn = begin_of_unreadable("");
    report_.anchor_missing = options_.anchor && !anchor_seen_ && !report_.broken;
    report_.first_missing = options_.from_first && report_.first_seq != 1;
    report_.unsigned_chain = !options_.keys.empty() && report_.signatures.good == 0 && !report_.broken;
    report_.unsigned_end =
        !options_.keys.empty() && report_.signatures.good > 0 && !report_.broken && end_is_unsigned();
    return std::move(report_);
  }

 private:
  bool end_is_unsigned() const {
    const LogOptions usual;
    const std::uint64_t records = checker_.head().seq - report_.signatures.proven.seq;
    const base::Duration most = usual.sign_every + kSigningLag;
    const bool is_long = tail_begin_ && tail_end_ && *tail_end_ - *tail_begin_ > most;
    return records > usual.sign_after + 1 || is_long || report_.signatures.unknown_after_good > 0;
  }

  void check_line(std::string_view line, std::uint64_t number) {
    const bool was_unreadable = checker_.has_unreadable_tail();
    const std::string complaint = checker_.feed(line);
    if (!complaint.empty()) {
      report_.broken = was_unreadable && checker_.has_unreadable_tail()
                           ? begin_of_unreadable(complaint)
                           : Break{file(), number, seq_of(line), complaint};
      return;
    }
    if (checker_.has_unreadable_tail()) {
      if (!was_unreadable) unreadable_at_ = {file(), number};
      return;
    }
    count();
    check_signature(line, number);
  }

  void check_signature(std::string_view line, std::uint64_t number) {
    if (options_.keys.empty()) return;
    const auto parsed = parse_line(line);
    if (!parsed) return;
    if (!tail_begin_) tail_begin_ = parsed->record.time;
    tail_end_ = parsed->record.time;
    switch (verify_head(parsed->record, options_.keys)) {
      case HeadVerdict::kNone: return;
      case HeadVerdict::kUnknownKey:
        ++report_.signatures.unknown_key;
        ++report_.signatures.unknown_after_good;
        return;
      case HeadVerdict::kGood:
        ++report_.signatures.good;
        report_.signatures.proven = parsed->head();
        report_.signatures.unknown_after_good = 0;
        tail_begin_.reset();
        return;
      case HeadVerdict::kForged:
        report_.broken = Break{file(), number, parsed->record.seq,
                               "its signature does not match the preceding records: they were rewritten"};
    }
  }

  void count() {
    FileReport& current = report_.files.back();
    const Head& head = checker_.head();
    if (current.records++ == 0) current.first_seq = head.seq;
    current.last_seq = head.seq;
    if (options_.anchor && *options_.anchor == head) anchor_seen_ = true;
  }

  Break begin_of_unreadable(const std::string& complaint) const {
    return {unreadable_at_.first, unreadable_at_.second, checker_.head().seq + 1,
            complaint.empty() ? "no record: " + checker_.unexplained_why() : complaint};
  }

  static std::uint64_t seq_of(std::string_view line) {
    const auto parsed = parse_line(line);
    return parsed ? parsed->record.seq : 0;
  }

  const std::string& file() const { return report_.files.back().file; }

  const VerifyOptions& options_;
  ChainChecker checker_;
  VerifyReport report_;
  std::pair<std::string, std::uint64_t> unreadable_at_;
  bool anchor_seen_ = false;
  std::optional<base::TimePoint> tail_begin_;  ///< of the records after the newest validly signed head
  std::optional<base::TimePoint> tail_end_;
};

}  // namespace

base::Status read_lines(const std::string& file, const EachLine& each) {
  std::filebuf opened;
  if (file != "-" && !opened.open(file, std::ios::in | std::ios::binary)) {
    return base::invalid(fmt::format("cannot read {}: {}", file, std::strerror(errno)));
  }
  std::streambuf& in = file == "-" ? *std::cin.rdbuf() : opened;
  std::string line;
  try {
    for (std::uint64_t number = 1; next_line(in, line); ++number) {
      if (!each(line, number)) break;
    }
  } catch (const std::exception& error) {  // libstdc++ throws for a directory or a failing disk
    return base::invalid(fmt::format("cannot read {}: {}", file, error.what()));
  }
  return base::Done{};
}

base::Result<std::vector<std::string>> sort_by_seq(std::vector<std::string> files) {
  if (files.size() < 2) return files;
  if (std::count(files.begin(), files.end(), "-") > 0) {
    return base::invalid("standard input (-) cannot be ordered with other files: pass it alone");
  }
  std::vector<std::pair<std::uint64_t, std::string>> numbered;
  for (std::string& file : files) {
    const auto seq = first_seq(file);
    if (!seq) return seq.error();
    numbered.emplace_back(*seq, std::move(file));
  }
  std::sort(numbered.begin(), numbered.end());
  files.clear();
  for (auto& [seq, file] : numbered) files.push_back(std::move(file));
  return files;
}

base::Result<VerifyReport> verify(const std::vector<std::string>& files, const VerifyOptions& options) {
  const auto ordered = sort_by_seq(files);
  if (!ordered) return ordered.error();
  Verifier verifier(options);
  for (const std::string& file : *ordered) {
    if (auto read = verifier.check_file(file); !read) return read.error();
    if (verifier.is_broken()) break;
  }
  return std::move(verifier).finish();
}

}  // namespace audit
