#include "cmd/advise/objects.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "cmd/input/documents.hpp"
#include "cmd/input/files.hpp"
#include "cmd/input/listed.hpp"
#include "cmd/session/session.hpp"

namespace cmd::advise {
namespace {

using Each = std::function<void(const api::Json&)>;

void give_type(api::Json& object, const std::string& kind, const std::string& version) {
  if (!object.contains("kind")) object["kind"] = kind;
  if (!object.contains("apiVersion")) object["apiVersion"] = version;
}

/// Calls `each` with the object. An object without kind or apiVersion gets those of the list that contains it.
void call_typed(const Listed& listed, const Each& each) {
  const bool says_its_type = listed.object.contains("kind") && listed.object.contains("apiVersion");
  if (listed.kind.empty() || says_its_type) return each(listed.object);
  api::Json typed = listed.object;
  give_type(typed, listed.kind, listed.version);
  each(typed);
}

base::Status read_dump(const std::string& path, const Each& each) {
  const auto set = files_of(path);
  if (!set) return set.error();
  bool holds_any = false;
  for (const std::string& file : set->files) {
    auto documents = read_documents(file, kMaxDumpBytes, RepeatedKeys::kLastWins);
    if (!documents) return std::move(documents).error();
    for (const api::Json& document : *documents) {
      const auto done = for_each_object(document, api::FieldPath(), [&](const Listed& listed) -> base::Status {
        if (!listed.object.is_object()) return base::Done{};
        holds_any = true;
        call_typed(listed, each);
        return base::Done{};
      });
      if (!done) return done.error().during(file);
    }
  }
  if (holds_any) return base::Done{};
  return base::invalid(fmt::format("{}: contains no object: did the command that writes it fail?", path));
}

base::Status read_kind(plugin::Session& session, const RequestedKind& wanted, const std::string& ns, const Each& each,
                       std::vector<std::string>& problems) {
  kube::ListOptions options;
  if (wanted.type.namespaced) options.ns = ns;
  const auto read = session.client().list(wanted.type, options, [&](std::string_view item) -> base::Status {
    auto object = api::parse_json(item);
    if (!object) return base::Done{};
    if (object->is_object()) give_type(*object, std::string(wanted.type.kind), wanted.type.api_version());
    each(*object);
    return base::Done{};
  });
  if (read || (wanted.is_optional && base::is_not_found(read.error()))) return base::Done{};
  const base::Error told = session.explained(read.error(), {"list", wanted.type, {options.ns, ""}});
  if (!wanted.is_optional) return told;
  problems.push_back(told.message.substr(0, told.message.find('\n')));
  return base::Done{};
}

}  // namespace

base::Status read_objects(const ClusterOptions& options, plugin::Io& io, const std::vector<RequestedKind>& kinds,
                          const Each& each, std::vector<std::string>& problems) {
  if (!options.snapshot.empty()) return read_dump(options.snapshot, each);
  const auto session = plugin::Session::connect({.kubeconfig = options.kubeconfig, .context = options.context}, io);
  if (!session) return session.error();
  for (const RequestedKind& wanted : kinds) {
    if (auto read = read_kind(**session, wanted, options.ns, each, problems); !read) return read;
  }
  return base::Done{};
}

}  // namespace cmd::advise
