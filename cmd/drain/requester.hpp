#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/drain/request.hpp"
#include "cmd/plugin/commands.hpp"

namespace cmd::plugin {

/// The Evacuation of one pod, newly created or existing.
struct RequestOutcome {
  StoredEvacuation stored;
  bool existed = false;
  bool dry_run = false;
};

/// Creates Evacuations for pods that have none.
class EvacuationCreator {
 public:
  /// `dry_run` is "none", "client" or "server".
  EvacuationCreator(Session& session, EvacuationRequest request, std::string dry_run);

  /// Returns the pod's unfinished Evacuation or creates one. If another client creates it first, returns that one as
  /// `existed`.
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

/// Returns "evacuation.evacuator.dev/web-1-9f31aa02 created", or that the Evacuation already exists.
std::string describe(const RequestOutcome& asked);

EvacuationRequest evacuation_request_of(Session& session, const RequestOptions& options);

/// Merge patches that set spec.cancel, and clear spec.suspend.
api::Json cancel_patch(const std::string& reason);
api::Json release_patch();

}  // namespace cmd::plugin
