#pragma once

/// Readers of parts that several kinds share, and the frame around all of them. Internal to api/core/codec*.cpp and
/// api/evacuation/stored.cpp. Each reads its value once and in document order; what has a wrong type stays as it was
/// (codec_reader.hpp). V is a Value of JSON or a ProtoValue; both are instantiated where the template is.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/codec.hpp"
#include "api/core/codec_reader.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/value.hpp"

namespace api::wire {

/// Maps repeat from pod to pod of one workload: equal ones share their storage. `annotations`: only those that somebody
/// looks at are kept.
template <typename V>
error_code read_map(V& value, bool annotations, StringMap& target);
template <typename V>
error_code read_meta(V& value, ObjectMeta& meta);
/// Not whether keeps_owner() keeps it.
template <typename V>
error_code read_owner(V& value, OwnerReference& owner);
template <typename V>
error_code read_condition(V& value, Condition& condition);
template <typename V>
error_code read_conditions(V& value, std::vector<Condition>& target);

/// What could not be read below the path, which is known only further up.
using Unread = std::vector<UnreadField>;
void add_unread(UnreadFields& target, Unread unread, const std::string& prefix);

/// `field`: the list's name, in front of the names of those that cannot be read.
template <typename V>
error_code read_resources(V& value, ResourceList& target, Unread& unread, std::string_view field);
template <typename V>
error_code read_requests_and_limits(V& value, ResourceList& requests, ResourceList& limits, Unread& unread);

/// What the API server would not take never widens a selector: such a requirement holds for nobody.
template <typename V>
error_code read_selector(V& value, std::optional<LabelSelector>& target);
template <typename V>
error_code read_node_term(V& value, NodeSelectorTerm& term);
/// {nodeSelectorTerms: […]}
template <typename V>
error_code read_node_selector(V& value, std::vector<NodeSelectorTerm>& target);
/// Those of one workload are equal and share their storage. nullptr: it says nothing.
std::shared_ptr<const Affinity> share(Affinity affinity);
template <typename V>
error_code read_affinity(V& value, std::shared_ptr<const Affinity>& target);
template <typename V>
error_code read_toleration(V& value, std::vector<Toleration>& target);
template <typename V>
error_code read_taint(V& value, std::vector<Taint>& target);
template <typename V>
error_code read_spread(V& value, std::vector<TopologySpreadConstraint>& target);

/// Of a claim, or of the template of one. `pvc` is a new one.
template <typename V>
error_code read_pvc_spec(V& value, PersistentVolumeClaim& pvc);

/// Of decode_object(): an envelope of any kind, of which only metadata is read.
inline constexpr std::string_view kAnyKind = "*";

/// The message of the envelope's kind, if it is one of them.
const protobuf::Message* message_for(const protobuf::Envelope& envelope, std::initializer_list<std::string_view> kinds);
base::Error wrong_kind(const char* what, const protobuf::Envelope& envelope);
base::Error malformed_protobuf(const char* what);
base::Error while_decoding(const char* what, base::Error error);

/// decode_object() of a protobuf envelope.
template <typename T, typename F>
base::Result<T> decode_envelope(std::string_view bytes, const char* what, std::initializer_list<std::string_view> kinds,
                                F& read) {
  auto envelope = protobuf::open(bytes);
  if (!envelope) return while_decoding(what, std::move(envelope).error());
  const protobuf::Message* message = message_for(*envelope, kinds);
  if (message == nullptr) return wrong_kind(what, *envelope);
  T decoded;
  const auto member = [&](std::string_view key, ProtoValue& value) {
    return key == "metadata" ? read_meta(value, decoded.meta) : read(key, value, decoded);
  };
  static constexpr protobuf::Field kTypeField{1, "kind", protobuf::FieldType::kText};
  ProtoValue version(kTypeField, envelope->api_version);
  ProtoValue kind(kTypeField, envelope->kind);
  error_code error = member("apiVersion", version);
  if (!error) error = member("kind", kind);
  if (!error) error = for_message(*message, envelope->body, member);
  if (error) return malformed_protobuf(what);
  return decoded;
}

/// Decodes an object of which T has `meta`, from JSON or from an envelope of one of those kinds;
/// `read(key, value, T&)` takes the other members of either.
template <typename T, typename F>
base::Result<T> decode_object(std::string_view bytes, const char* what, std::initializer_list<std::string_view> kinds,
                              F&& read) {
  if (protobuf::is_envelope(bytes)) return decode_envelope<T>(bytes, what, kinds, read);
  T decoded;
  Lease lease;
  const auto status = read_document(*lease, bytes, what, [&](Object& root) {
    return for_members(root, [&](std::string_view key, Value& value) {
      return key == "metadata" ? read_meta(value, decoded.meta) : read(key, value, decoded);
    });
  });
  if (!status) return status.error();
  return decoded;
}

struct OnlyMeta {
  ObjectMeta meta;
};

}  // namespace api::wire
