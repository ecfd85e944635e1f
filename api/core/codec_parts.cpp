/// Readers of metadata, quantities and conditions, which objects of every kind have.

#include "api/core/codec_parts.hpp"

#include <algorithm>
#include <functional>

#include "api/core/protobuf/fields.hpp"
#include "api/json/lenient.hpp"
#include "api/wire_names.hpp"
#include "base/text.hpp"

namespace api::wire {
namespace {

constexpr std::size_t kMaxKind = 64;

}  // namespace

error_code read_map(auto& value, bool annotations, StringMap& target) {
  std::vector<StringMap::Entry> entries;
  const error_code error = for_entries(value, [&](std::string_view key, auto& entry) {
    std::string_view text;
    const error_code entry_error = text_of(entry, text);
    if (!entry_error && (!annotations || keeps_annotation(key, text.size()))) entries.emplace_back(key, text);
    return unless_about_value(entry_error);
  });
  target = StringMap::shared(std::move(entries));
  return error;
}

error_code read_owner(auto& value, OwnerReference& owner) {
  return read_members(value, on("apiVersion", owner.api_version), on("kind", owner.kind), on("name", owner.name),
                      on("uid", owner.uid), on("controller", owner.controller));
}

namespace {

/// Counts even an empty object as an owner, because protections and limits ask for the number of owners.
error_code add_owner(auto& value, std::vector<OwnerReference>& target) {
  bool is_one = false;
  if (const error_code error = is_object(value, is_one)) return unless_about_value(error);
  if (!is_one) return simdjson::SUCCESS;
  if (target.size() >= kMaxOwners) return simdjson::SUCCESS;
  OwnerReference owner;
  const error_code error = read_owner(value, owner);
  if (keeps_owner(owner)) target.push_back(std::move(owner));
  return error;
}

}  // namespace

error_code read_meta(auto& value, ObjectMeta& meta) {
  // Skips managedFields, half of the text, without parsing it.
  const error_code read_all = read_members(
      value, on("name", meta.name), on("namespace", meta.ns), on("uid", meta.uid),
      on("resourceVersion", meta.resource_version), on("generation", meta.generation),
      on("creationTimestamp", meta.creation_timestamp), on("deletionTimestamp", meta.deletion_timestamp),
      on("deletionGracePeriodSeconds", meta.deletion_grace_period_seconds),
      on("labels", [&](auto& map) { return read_map(map, false, meta.labels); }),
      on("annotations", [&](auto& map) { return read_map(map, true, meta.annotations); }),
      on("finalizers", meta.finalizers),
      on("ownerReferences", elements([&](auto& item) { return add_owner(item, meta.owner_references.edit()); })));
  meta.share_owners();
  return read_all;
}

namespace {

constexpr std::size_t kMaxUnreadText = 1 << 20;

/// Reads "250m" or a plain number from a manually written file. `text` is set to the original text, "" for null.
error_code read_quantity(Value& value, std::optional<Quantity>& target, std::string& text) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return unless_about_value(error);
  if (type == simdjson::ondemand::json_type::string) {
    std::string_view read;
    const error_code error = value.get_string().get(read);
    if (!error) target = Quantity::parse(read);
    if (!target) text = error ? "no text" : read;
    return unless_about_value(error);
  }
  if (type == simdjson::ondemand::json_type::null) return simdjson::SUCCESS;
  text = "no number";
  if (type != simdjson::ondemand::json_type::number) return simdjson::SUCCESS;
  text = value.raw_json_token();
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  target = Quantity::parse(text);
  return simdjson::SUCCESS;
}

error_code read_quantity(ProtoValue& value, std::optional<Quantity>& target, std::string& text) {
  if (!value.is(protobuf::FieldType::kQuantity)) return simdjson::SUCCESS;
  const auto read = read_quantity_text(value.bytes());
  if (!read) return kMalformedProtobuf;
  target = Quantity::parse(*read);
  if (!target) text = base::truncate_utf8(*read, kMaxUnreadText);
  return simdjson::SUCCESS;
}

}  // namespace

const protobuf::Message* message_for(const protobuf::Envelope& envelope,
                                     std::initializer_list<std::string_view> kinds) {
  if (kinds.size() == 1 && *kinds.begin() == kAnyKind) return &protobuf::metadata_of_any();
  const bool fits = std::ranges::find(kinds, std::string_view(envelope.kind)) != kinds.end();
  return fits ? protobuf::message_of(envelope.kind) : nullptr;
}

base::Error wrong_kind(const char* what, const protobuf::Envelope& envelope) {
  const std::string kind = envelope.kind.empty() ? "no kind" : "kind " + base::truncate_utf8(envelope.kind, kMaxKind);
  return base::invalid(std::string("decoding ") + what + ": the protobuf is of " + kind);
}

base::Error while_decoding(const char* what, base::Error error) {
  return std::move(error).during(std::string("decoding ") + what);
}

base::Error malformed_protobuf(const char* what) {
  return base::invalid(std::string("decoding ") + what + ": the protobuf is cut off or malformed");
}

void add_unread(UnreadFields& target, Unread unread, const std::string& prefix) {
  if (unread.empty()) return;
  for (UnreadField& field : unread) field.path.insert(0, prefix);
  if (target) unread.insert(unread.begin(), target->begin(), target->end());
  target = std::make_shared<const Unread>(std::move(unread));
}

namespace {

/// Sorts, because only servers write names in order. The last amount of a repeated name wins.
void sort_by_name(ResourceList& list) {
  const auto is_ordered = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (std::ranges::adjacent_find(list, std::not_fn(is_ordered)) == list.end()) return;
  std::ranges::stable_sort(list, {}, &ResourceList::value_type::first);
  const auto have_same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto last_of_each = std::unique(list.rbegin(), list.rend(), have_same_name);
  list.erase(list.begin(), last_of_each.base());
}

}  // namespace

error_code read_resources(auto& value, ResourceList& target, Unread& unread, std::string_view field) {
  const error_code read_all = for_entries(value, [&](std::string_view name, auto& entry) {
    std::optional<Quantity> amount;
    std::string text;
    const error_code error = read_quantity(entry, amount, text);
    if (!amount) {
      if (!error && !text.empty()) unread.push_back({std::string(field) + "." + std::string(name), std::move(text)});
      return error;
    }
    target.emplace_back(name, *amount);
    return error;
  });
  sort_by_name(target);
  return read_all;
}

error_code read_requests_and_limits(auto& value, ResourceList& requests, ResourceList& limits, Unread& unread) {
  return read_members(value,
                      on("requests", [&](auto& list) { return read_resources(list, requests, unread, "requests"); }),
                      on("limits", [&](auto& list) { return read_resources(list, limits, unread, "limits"); }));
}

error_code read_condition(auto& value, Condition& condition) {
  std::string status;
  const error_code error =
      read_members(value, on("type", condition.type), on("status", status), on("reason", condition.reason),
                   on("message", condition.message), on("observedGeneration", condition.observed_generation),
                   on("lastTransitionTime", condition.last_transition_time));
  condition.status = value_of(kConditionStatusNames, status).value_or(condition.status);
  return error;
}

error_code read_conditions(auto& value, std::vector<Condition>& target) {
  return for_elements(value, [&](auto& item) { return read_condition(item, target.emplace_back()); });
}

template error_code read_map(Value&, bool, StringMap&);
template error_code read_map(ProtoValue&, bool, StringMap&);
template error_code read_meta(Value&, ObjectMeta&);
template error_code read_meta(ProtoValue&, ObjectMeta&);
template error_code read_conditions(Value&, std::vector<Condition>&);
template error_code read_conditions(ProtoValue&, std::vector<Condition>&);
template error_code read_resources(Value&, ResourceList&, Unread&, std::string_view);
template error_code read_resources(ProtoValue&, ResourceList&, Unread&, std::string_view);
template error_code read_requests_and_limits(Value&, ResourceList&, ResourceList&, Unread&);
template error_code read_requests_and_limits(ProtoValue&, ResourceList&, ResourceList&, Unread&);

}  // namespace api::wire
