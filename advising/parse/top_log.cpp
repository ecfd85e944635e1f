#include "advising/parse/top_log.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace advising {
namespace {

constexpr std::size_t kMostWords = 6;  ///< a time and five columns

/// The words of a line; one more than fit means that it is something else.
struct Words {
  std::array<std::string_view, kMostWords + 1> words;
  std::size_t count = 0;
  std::size_t first = 0;  ///< that is not taken yet
  std::size_t left() const { return count - first; }
  std::string_view at(std::size_t i) const { return words[first + i]; }
};

Words words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Words found;
  for (auto at = line.find_first_not_of(kBlanks); at != std::string_view::npos && found.count <= kMostWords;) {
    const auto end = std::min(line.find_first_of(kBlanks, at), line.size());
    found.words[found.count++] = line.substr(at, end - at);
    at = line.find_first_not_of(kBlanks, end);
  }
  return found;
}

bool is_header(const Words& words) {
  const std::string_view first = words.at(0);
  return (first == "NAMESPACE" || first == "POD") && words.left() >= 3;
}

/// "<unknown>" is no amount.
double amount(std::string_view text) { return amount_of_text(text).value_or(kUnknown); }

/// True: it was one.
bool take_time(Words& words, std::optional<base::TimePoint>& time) {
  if (words.left() > 0 && words.at(0) == "#") ++words.first;
  if (words.left() == 0) return false;
  std::string_view text = words.at(0);
  if (text.starts_with('#')) text.remove_prefix(1);
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const auto found = base::parse_time(text);
  if (!found) return false;
  time = found;
  ++words.first;
  return true;
}

/// Four or five columns of which the last two are amounts; nullopt: something else.
std::optional<Sample> sample_of(const Words& words, std::string_view ns) {
  if (words.left() != 4 && words.left() != 5) return std::nullopt;
  const std::size_t names = words.left() - 4;
  Sample sample;
  sample.ns = names == 1 ? words.at(0) : ns;
  sample.pod = words.at(names);
  sample.container = words.at(names + 1);
  sample.cpu = amount(words.at(names + 2));
  sample.memory = amount(words.at(names + 3));
  const bool is_known = words.at(names + 2) == "<unknown>" || sample.cpu == sample.cpu;
  const bool has_amount = sample.cpu == sample.cpu || sample.memory == sample.memory;
  return is_known && has_amount ? std::optional(sample) : std::nullopt;
}

}  // namespace

base::Result<LogNotes> read_top_log(std::string_view text, std::string_view ns,
                                    const std::function<void(const Sample&)>& each) {
  LogNotes notes;
  std::optional<base::TimePoint> time;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    Words words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool had_time = take_time(words, time);
    if (words.left() == 0 || is_header(words)) continue;
    auto sample = sample_of(words, ns);
    if (!sample) {
      if (notes.unreadable++ == 0) notes.first_unreadable = number;
      continue;
    }
    if (!time && !had_time)
      return base::invalid(
          fmt::format("line {}: a sample before any time: write `date -u +%FT%TZ` before each "
                      "`kubectl top`",
                      number));
    if (sample->ns.empty())
      return base::invalid(fmt::format("line {}: there is no column NAMESPACE: name the namespace with -n", number));
    sample->time = *time;
    ++notes.samples;
    each(*sample);
  }
  return notes;
}

}  // namespace advising
