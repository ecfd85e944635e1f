#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/drain/request.hpp"
#include "cmd/plugin/commands.hpp"

namespace cmd::plugin {

/// The Evacuation of one pod, made now or there before.
struct RequestOutcome {
  StoredEvacuation stored;
  bool existed = false;
  bool dry_run = false;
};

/// Makes Evacuations for pods, knowing what there is already.
class Asking {
 public:
  /// `dry_run`: none, client or server.
  Asking(Session& session, EvacuationRequest request, std::string dry_run);

  /// Returns the unfinished one of the pod or makes one. A race that somebody else wins ends as `existed`.
  base::Result<RequestOutcome> ask_for(const api::Pod& pod, std::int32_t priority = 0);

 private:
  base::Result<std::vector<api::Evacuation>> known_in(const std::string& ns);
  base::Result<RequestOutcome> make(const api::Pod& pod, const std::string& name, std::int32_t priority);
  base::Result<RequestOutcome> existing(const api::ObjectKey& key);

  Session& session_;
  EvacuationRequest request_;
  std::string dry_run_;
  std::map<std::string, std::vector<api::Evacuation>> known_;  ///< by namespace
};

/// "evacuation.evacuator.dev/web-1-9f31aa02 created", or what is on its way already.
std::string words_for(const RequestOutcome& asked);

EvacuationRequest evacuation_request_of(Session& session, const RequestOptions& options);

/// Objects for -o.
std::vector<api::Json> raw_objects(const std::vector<StoredEvacuation>& stored);

/// Merge patches of the spec's two switches.
api::Json cancel_patch(const std::string& reason);
api::Json release_patch();

}  // namespace cmd::plugin
