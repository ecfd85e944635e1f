#include "cmd/advise/commands.hpp"

namespace cmd::advise {

int run_nodes(const NodesOptions& options, plugin::Io& io) {
  (void)options;
  io.err("evacuator: advise nodes is not part of this build yet\n");
  return plugin::kFailed;
}

}  // namespace cmd::advise
