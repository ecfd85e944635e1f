#include "cmd/plugin/follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cmd/evacuation_view.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

constexpr base::minutes kPatience{1};  // maximum time without a response from the server
constexpr std::size_t kLinesAround = 4;
constexpr std::size_t kMinRows = 3;

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const auto to = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return lines;
}

/// Returns the newest Evacuation of each pod, as chosen by newest_per_pod().
std::vector<StoredEvacuation> newest_stored(std::vector<StoredEvacuation> all) {
  std::set<api::ObjectKey> kept;
  for (const api::Evacuation& each : newest_per_pod(values_of(all))) kept.insert(each.meta.key());
  std::erase_if(all, [&](const auto& each) { return !kept.contains(each.evacuation.meta.key()); });
  return all;
}

}  // namespace

void LiveTable::show(const std::string& title, std::vector<api::Evacuation> evacuations) {
  sort_for_display(evacuations);
  if (io_.screen) {
    draw(title, evacuations);
  } else {
    print_changes(title, evacuations);
  }
}

void LiveTable::draw(const std::string& title, const std::vector<api::Evacuation>& evacuations) {
  std::vector<std::string> lines = {title};
  std::vector<std::string> table;
  if (!evacuations.empty())
    table = lines_of_text(evacuation_table(evacuations, with_namespace_, io_.clock.now(), io_.colour));
  const std::size_t capacity = std::max(kMinRows, io_.screen->rows - std::min(io_.screen->rows, kLinesAround));
  const std::size_t shown = std::min(table.size(), capacity);
  lines.insert(lines.end(), table.begin(), table.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < table.size()) lines.push_back(fmt::format("… and {} more", table.size() - shown));
  std::string text;
  for (const std::string& line : lines) text += clip(line, io_.screen->columns) + "\n";
  if (text == drawn_) return;
  io_.out((drawn_lines_ > 0 ? fmt::format("\033[{}A\033[J", drawn_lines_) : "") + text);
  drawn_lines_ = lines.size();
  drawn_ = std::move(text);
}

void LiveTable::print_changes(const std::string& title, const std::vector<api::Evacuation>& evacuations) {
  std::string text;
  const std::string time = base::format_time(io_.clock.now()).substr(11, 8);
  for (const api::Evacuation& each : evacuations) {
    const auto cells = evacuation_cells(each, io_.clock.now());
    std::string row = fmt::format("{:<40} {:<14}", (with_namespace_ ? cells[0] + "/" : "") + cells[1], cells[4]);
    if (!cells[5].empty() && cells[5] != "100%") row += " " + cells[5];
    if (!cells[6].empty()) row += " now on " + cells[6];
    if (const std::string detail = one_line(detail_of(each)); !detail.empty()) row += " " + detail;
    row.erase(row.find_last_not_of(' ') + 1);
    auto& last = last_rows_[each.meta.key()];
    if (last == row) continue;
    last = row;
    text += fmt::format("{}  {}\n", time, row);
  }
  if (title != last_title_) text += fmt::format("{}  {}\n", time, title);
  last_title_ = title;
  if (!text.empty()) io_.out(text);
}

std::string progress_line(const std::string& subject, const Progress& progress, bool with_bar) {
  const double share =
      progress.total > 0 ? static_cast<double>(progress.gone) / static_cast<double>(progress.total) : 1;
  return fmt::format("{}: {}{}", subject, with_bar ? bar(share, 20) + "  " : "", summary(progress));
}

base::Result<Followed> follow(Session& session, const FollowOptions& options, const ReadEvacuations& read) {
  Io& io = session.io();
  LiveTable table(io, options.with_namespace);
  const base::TimePoint start = session.now();
  base::TimePoint last_contact = start;
  Followed followed;
  for (;;) {
    auto seen = read();
    if (!seen && (!base::is_retriable(seen.error().code) || session.now() - last_contact > kPatience))
      return seen.error();
    const bool in_contact = seen.ok();
    if (in_contact) {
      last_contact = session.now();
      followed.last = newest_stored(*std::move(seen));
      followed.progress = progress_of(values_of(followed.last));
      const std::string title = progress_line(options.subject, followed.progress, io.screen.has_value());
      if (!options.quiet) table.show(title, values_of(followed.last));
    }
    if (in_contact && followed.progress.settled()) return followed;
    followed.end = FollowEnd::kTimeout;
    if (options.timeout > base::Duration::zero() && session.now() - start >= options.timeout) return followed;
    followed.end = FollowEnd::kInterrupted;
    if (io.nap(options.interval)) return followed;
    followed.end = FollowEnd::kSettled;
  }
}

}  // namespace cmd::plugin
