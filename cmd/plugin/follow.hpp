#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/drain/progress.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Live view of Evacuations: a table redrawn in place on a terminal, otherwise one line per change.
class LiveTable {
 public:
  LiveTable(Io& io, bool with_namespace) : io_(io), with_namespace_(with_namespace) {}

  /// Shows the current state. `title` is above the table or, without a terminal, on a separate line whenever it
  /// changes.
  void show(const std::string& title, std::vector<api::Evacuation> evacuations);

 private:
  void draw(const std::string& title, const std::vector<api::Evacuation>& evacuations);
  void print_changes(const std::string& title, const std::vector<api::Evacuation>& evacuations);

  Io& io_;
  bool with_namespace_;
  std::size_t drawn_lines_ = 0;
  std::string drawn_;  ///< current text on the screen; unchanged text is not redrawn
  std::string last_title_;
  std::map<api::ObjectKey, std::string> last_rows_;
};

/// Returns a bar with counts, such as "█████░░░░░  12 of 30 pods gone, 2 moving".
std::string progress_line(const std::string& subject, const Progress& progress, bool with_bar);

enum class FollowEnd { kSettled, kTimeout, kInterrupted };

struct FollowOptions {
  std::string subject;       ///< text before the counts, such as "node/node-2"
  base::Duration timeout{};  ///< zero for no timeout
  bool with_namespace = true;
  base::milliseconds interval{1000};
  bool quiet = false;  ///< print nothing, for machine-readable output
};
using ReadEvacuations = std::function<base::Result<std::vector<StoredEvacuation>>()>;

struct Followed {
  FollowEnd end = FollowEnd::kSettled;
  std::vector<StoredEvacuation> last;  ///< result of the last read, newest Evacuation per pod
  Progress progress;
};
/// Reads and shows Evacuations until all have ended, the timeout has passed or the user interrupts. Tolerates an
/// unavailable server for one minute.
base::Result<Followed> follow(Session& session, const FollowOptions& options, const ReadEvacuations& read);

}  // namespace cmd::plugin
