#include "cmd/input/listed.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace cmd {
namespace {

using Each = std::function<base::Status(const Listed&)>;

/// Type that a list gives its items.
struct ListType {
  std::string kind{};
  std::string version{};
};

ListType type_of_items(const api::Json& list) {
  std::string kind = api::text_at(list, {"kind"});
  if (kind == "List" || !kind.ends_with("List")) return {};
  kind.resize(kind.size() - 4);
  return {kind, api::text_at(list, {"apiVersion"})};
}

/// Returns an error for a Status object, which the API server returned instead of the requested object.
base::Status refusal_of(const api::Json& status) {
  constexpr std::size_t kMaxShown = 120;
  return base::invalid(
      fmt::format("is not an object, but an error of the API server: \"{}\"; fix the error and dump again",
                  api::text_at(status, {"message"}).substr(0, kMaxShown)));
}

base::Status call(const api::Json& object, const ListType& type, const api::FieldPath& at, const Each& each) {
  std::string kind = api::text_at(object, {"kind"});
  std::string version = api::text_at(object, {"apiVersion"});
  if (kind.empty()) kind = type.kind;
  if (version.empty()) version = type.version;
  const bool is_refusal = kind == "Status" && version == "v1";
  auto done = is_refusal ? refusal_of(object) : each({object, std::move(kind), std::move(version), at});
  return done || at.text().empty() ? done : done.error().during(at.text());
}

base::Status call_all(const api::Json& items, const ListType& type, const api::FieldPath& at, const Each& each) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto done = call(items[i], type, at.index(i), each); !done) return done;
  }
  return base::Done{};
}

}  // namespace

base::Status for_each_object(const api::Json& document, const api::FieldPath& at, const Each& each) {
  if (document.is_array()) return call_all(document, {}, at, each);
  const api::Json* items = document.is_object() ? api::find_at(document, {"items"}) : nullptr;
  if (items == nullptr || !items->is_array()) return call(document, {}, at, each);
  return call_all(*items, type_of_items(document), at.field("items"), each);
}

}  // namespace cmd
