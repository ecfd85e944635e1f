#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/drain/progress.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Evacuations on the screen: a table that is redrawn in place on a terminal, else a line for each change.
class LiveTable {
 public:
  LiveTable(Io& io, bool with_namespace) : io_(io), with_namespace_(with_namespace) {}

  /// `title` goes above the table and, without a terminal, on a line of its own whenever it changes.
  void show(const std::string& title, std::vector<api::Evacuation> evacuations);

 private:
  void draw(const std::string& title, const std::vector<api::Evacuation>& evacuations);
  void print_changes(const std::string& title, const std::vector<api::Evacuation>& evacuations);

  Io& io_;
  bool with_namespace_;
  std::size_t drawn_lines_ = 0;
  std::string drawn_;  ///< as it stands on the screen: the same is not drawn again
  std::string last_title_;
  std::map<api::ObjectKey, std::string> last_rows_;
};

/// A bar and the counts: "█████░░░░░  12 of 30 pods gone, 2 moving".
std::string progress_line(const std::string& subject, const Progress& progress, bool with_bar);

enum class FollowEnd { kSettled, kTimeout, kInterrupted };

struct FollowOptions {
  std::string subject;       ///< "node/node-2", in front of the counts
  base::Duration timeout{};  ///< zero: none
  bool with_namespace = true;
  base::milliseconds interval{1000};
  bool quiet = false;  ///< show nothing: the output is for programs
};
using ReadEvacuations = std::function<base::Result<std::vector<StoredEvacuation>>()>;

struct Followed {
  FollowEnd end = FollowEnd::kSettled;
  std::vector<StoredEvacuation> last;  ///< as last read, newest per pod
  Progress progress;
};
/// Reads and shows until all have ended, the time is up or the user interrupts. Bears a server that is away for a
/// minute.
base::Result<Followed> follow(Session& session, const FollowOptions& options, const ReadEvacuations& read);

/// Of several of one pod the newest, as newest_per_pod() chooses.
std::vector<StoredEvacuation> newest_stored(std::vector<StoredEvacuation> all);

}  // namespace cmd::plugin
