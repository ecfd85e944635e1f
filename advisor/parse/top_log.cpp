#include "advisor/parse/top_log.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "advisor/parse/times.hpp"

namespace advisor {
namespace {

constexpr std::size_t kMaxWords = 7;     ///< a time and six columns
constexpr std::size_t kSampleWords = 5;  ///< sample with namespace

/// Words of a line. Keeps one more than kMaxWords, to detect longer lines.
struct Words {
  std::array<std::string_view, kMaxWords + 1> words;
  std::size_t count = 0;
  std::size_t first = 0;  ///< first unread word
  std::size_t left() const { return count - first; }
  std::string_view at(std::size_t i) const { return words[first + i]; }
};

Words words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Words found;
  for (auto at = line.find_first_not_of(kBlanks); at != std::string_view::npos && found.count <= kMaxWords;) {
    const auto end = std::min(line.find_first_of(kBlanks, at), line.size());
    found.words[found.count++] = line.substr(at, end - at);
    at = line.find_first_not_of(kBlanks, end);
  }
  return found;
}

bool is_header(const Words& words) {
  const std::string_view first = words.at(0);
  return (first == "NAMESPACE" || first == "POD" || first == "NAME") && words.left() >= 3;
}

/// Returns kUnknown for "<unknown>" and other text that is not an amount.
double amount(std::string_view text) { return amount_of_text(text).value_or(kUnknown); }

/// Reads the time at the start of a line, if any. A namespace may look like epoch seconds, so a line of exactly the
/// columns of a sample has no epoch time.
void take_time(Words& words, std::optional<base::TimePoint>& time) {
  if (words.left() > 0 && words.at(0) == "#") ++words.first;
  if (words.left() == 0) return;
  std::string_view text = words.at(0);
  if (text.starts_with('#')) text.remove_prefix(1);
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const auto found = parse_history_time(text);
  const bool may_be_namespace = epoch_time(text) && words.left() == kSampleWords;
  if (!found || may_be_namespace) return;
  time = found;
  ++words.first;
}

/// Parses four or five columns of which the last two are amounts. Returns nullopt for anything else.
std::optional<Sample> sample_of(const Words& words, std::string_view ns) {
  if (words.left() != kSampleWords - 1 && words.left() != kSampleWords) return std::nullopt;
  const std::size_t names = words.left() - 4;
  Sample sample;
  sample.ns = names == 1 ? words.at(0) : ns;
  sample.pod = words.at(names);
  sample.container = words.at(names + 1);
  sample.cpu = amount(words.at(names + 2));
  sample.memory = amount(words.at(names + 3));
  const auto is_readable = [](std::string_view text, double value) { return text == "<unknown>" || value == value; };
  const bool has_amount = sample.cpu == sample.cpu || sample.memory == sample.memory;
  const bool is_sample =
      has_amount && is_readable(words.at(names + 2), sample.cpu) && is_readable(words.at(names + 3), sample.memory);
  return is_sample ? std::optional(sample) : std::nullopt;
}

class LogReader {
 public:
  LogReader(std::string_view ns, const std::function<void(const Sample&)>& each) : ns_(ns), each_(each) {}

  /// Parses one line. The caller adds the line number to an error.
  base::Status take(std::string_view line, std::size_t number) {
    Words words = words_of(line);
    take_time(words, time_);
    if (words.left() == 0) return base::Done{};
    if (is_header(words)) return take_header(words);
    if (has_swap_ && words.left() > 4) --words.count;
    auto sample = sample_of(words, ns_);
    if (!sample) {
      if (notes_.unreadable++ == 0) notes_.first_unreadable = number;
      return base::Done{};
    }
    return tell(*sample);
  }
  const LogNotes& notes() const { return notes_; }

 private:
  base::Status take_header(const Words& words) {
    has_swap_ = words.at(words.left() - 1).starts_with("SWAP(");
    const bool has_containers = words.at(0) == "POD" || words.at(1) == "POD";
    if (has_containers) return base::Done{};
    return base::invalid("the log lists no containers: record it with `kubectl top pods -A --containers`");
  }

  base::Status tell(Sample& sample) {
    if (!time_) {
      std::string text = "a sample before the first time: write `date -u +%FT%TZ` before each `kubectl top`";
      if (notes_.unreadable > 0)
        text += fmt::format(" (line {} is not a time such as 2026-11-21T12:00:00Z)", notes_.first_unreadable);
      return base::invalid(std::move(text));
    }
    if (sample.ns.empty()) return base::invalid("the column NAMESPACE is missing: set the namespace with -n");
    sample.time = *time_;
    ++notes_.samples;
    each_(sample);
    return base::Done{};
  }

  const std::string_view ns_;
  const std::function<void(const Sample&)>& each_;
  LogNotes notes_;
  std::optional<base::TimePoint> time_;
  bool has_swap_ = false;  ///< the latest header has a swap column, which is ignored
};

}  // namespace

base::Result<LogNotes> read_top_log(std::string_view text, std::string_view ns,
                                    const std::function<void(const Sample&)>& each) {
  LogReader reader(ns, each);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    if (const auto taken = reader.take(text.substr(0, end), number); !taken)
      return base::Error(taken.error()).during(fmt::format("line {}", number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.notes();
}

}  // namespace advisor
