#include "telemetry/audit/chain.hpp"

#include <fmt/format.h>

namespace audit {
namespace {

/// Limit for collected unreadable lines. A torn end normally is one line, rarely several.
constexpr std::size_t kMaxUnexplained = std::size_t{1} << 20;

bool matches_torn(const Record& record, std::string_view torn) {
  return record.action == action::kLogOpened && detail_of(record, kTornBytes) == std::to_string(torn.size()) &&
         detail_of(record, kTornSha256) == crypto::sha256(torn);
}

}  // namespace

void add_torn_detail(const Torn& torn, Record& record) {
  record.detail[std::string(kTornBytes)] = std::to_string(torn.bytes);
  record.detail[std::string(kTornSha256)] = torn.sha256;
}

Tail read_tail(std::string_view bytes) {
  Tail tail;
  tail.ends_with_newline = bytes.empty() || bytes.back() == '\n';
  std::string_view rest = tail.ends_with_newline && !bytes.empty() ? bytes.substr(0, bytes.size() - 1) : bytes;
  const std::string_view whole = rest;
  while (!rest.empty()) {
    const std::size_t newline = rest.rfind('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (auto parsed = parse_line(rest.substr(begin))) {
      tail.last = *std::move(parsed);
      if (rest.size() < whole.size()) tail.torn = std::string(whole.substr(rest.size() + 1));
      return tail;
    }
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
  }
  if (!bytes.empty()) tail.torn = std::string(whole);
  return tail;
}

std::string ChainChecker::feed(std::string_view line) {
  const auto parsed = parse_line(line);
  if (parsed) return check(*parsed);
  keep(line, parsed.error().message);
  return {};
}

void ChainChecker::keep(std::string_view line, std::string why) {
  if (!unexplained_) {
    why_ = std::move(why);
    unexplained_ = std::string(line.substr(0, kMaxUnexplained));
  } else if (unexplained_->size() < kMaxUnexplained) {
    *unexplained_ += '\n';
    *unexplained_ += line;
  }
}

std::string ChainChecker::check(const ParsedLine& line) {
  if (unexplained_ && !matches_torn(line.record, *unexplained_)) return "not a valid record: " + why_;
  unexplained_.reset();
  if (!line.intact()) {
    return fmt::format("the record was changed: the hash of its content is {}, its stored hash is {}",
                       crypto::sha256(canonical(line.record)), line.hash);
  }
  if (std::string complaint = check_link(line); !complaint.empty()) return complaint;
  head_ = line.head();
  ++records_;
  return {};
}

std::string ChainChecker::check_link(const ParsedLine& line) {
  const Record& record = line.record;
  if (records_ == 0) {
    first_seq_ = record.seq;
    return record.seq == 1 && record.prev_hash != Head{}.hash ? "the previous hash of record 1 must be 64 zeros" : "";
  }
  if (record.seq > head_.seq + 1) {
    return fmt::format("records {} to {} are missing", head_.seq + 1, record.seq - 1);
  }
  if (record.seq <= head_.seq) {
    return fmt::format("record {} follows record {}: lines were moved or duplicated, or another chain starts here",
                       record.seq, head_.seq);
  }
  if (record.prev_hash == head_.hash) return {};
  return fmt::format(
      "its previous hash is not that of the preceding record, {}: the preceding record was replaced, or another chain "
      "starts here",
      head_.hash);
}

}  // namespace audit
