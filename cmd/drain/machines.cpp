#include "cmd/drain/machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/virtual_machine.hpp"
#include "cmd/drain/request.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "kube/kubevirt.hpp"

namespace cmd::plugin {
namespace {

using evictors::Document;
using evictors::kubevirt::MachineFate;

Document document_of(const base::Result<std::string>& text) {
  Document document;
  if (text) document.status = 200;
  if (text) document.body = *text;
  return document;
}

Document read_kubevirts(Session& session) {
  const auto items = session.list(kube::kKubeVirts, listing(""));
  if (!items) return {};
  return document_of(fmt::format("{{\"items\":[{}]}}", fmt::join(*items, ",")));
}

bool ends(MachineFate fate) {
  switch (fate) {
    case MachineFate::kMigrates:
    case MachineFate::kUndecided:
    case MachineFate::kRefused:
    case MachineFate::kExternal: return false;
    case MachineFate::kShutDown:
    case MachineFate::kUnknown: return true;
  }
  return true;
}

}  // namespace

std::set<std::string> read_shutdown_launchers(Session& session, const std::vector<api::Pod>& pods) {
  std::set<std::string> ending;
  std::optional<Document> kubevirts;
  for (const api::Pod& pod : pods) {
    const std::string& machine = api::machine_of(pod);
    if (machine.empty() || pod.is_terminal() || pod.meta.is_terminating()) continue;
    if (!kubevirts) kubevirts = read_kubevirts(session);
    const Document vmi = document_of(session.get(kube::kVmis, {pod.meta.ns, machine}));
    if (ends(evictors::kubevirt::fate_of(vmi, *kubevirts))) ending.insert(pod.meta.uid);
  }
  return ending;
}

}  // namespace cmd::plugin
