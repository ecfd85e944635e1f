#include "cmd/advise/commands.hpp"

namespace cmd::advise {

int run_requests(const RequestsOptions& options, plugin::Io& io) {
  (void)options;
  io.err("evacuator: advise requests is not part of this build yet\n");
  return plugin::kFailed;
}

}  // namespace cmd::advise
