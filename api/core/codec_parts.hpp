#pragma once

/// Readers of parts that several kinds share, and the frame around all decoders. Internal to api/core/codec*.cpp and
/// api/evacuation/stored.cpp. Each function reads its value once and in document order; a field of a wrong type leaves
/// the target unchanged (codec_reader.hpp). `value` is a Value of JSON or a ProtoValue; templates are explicitly
/// instantiated for both in their source file.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/codec.hpp"
#include "api/core/codec_reader.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/value.hpp"

namespace api::wire {

/// Reads labels or annotations. Maps are equal for all pods of a workload, so equal ones share their storage. With
/// `annotations`, keeps only the annotations that keeps_annotation() accepts.
error_code read_map(auto& value, bool annotations, StringMap& target);
error_code read_meta(auto& value, ObjectMeta& meta);
error_code read_conditions(auto& value, std::vector<Condition>& target);

/// Fields that could not be read. Paths are relative, because the prefix is known to the caller only.
using Unread = std::vector<UnreadField>;
void add_unread(UnreadFields& target, Unread unread, const std::string& prefix);

/// `field` is the name of the list, the prefix of unread names.
error_code read_resources(auto& value, ResourceList& target, Unread& unread, std::string_view field);
error_code read_requests_and_limits(auto& value, ResourceList& requests, ResourceList& limits, Unread& unread);

/// A requirement that the API server would refuse never widens a selector: it matches nothing.
error_code read_selector(auto& value, std::optional<LabelSelector>& target);
error_code read_node_term(auto& value, NodeSelectorTerm& term);
/// {nodeSelectorTerms: […]}
error_code read_node_selector(auto& value, std::vector<NodeSelectorTerm>& target);
/// Equal affinities, such as those of one workload, share their storage. Returns nullptr for an empty affinity.
std::shared_ptr<const Affinity> share(Affinity affinity);
error_code read_affinity(auto& value, std::shared_ptr<const Affinity>& target);
error_code read_toleration(auto& value, std::vector<Toleration>& target);
error_code read_taint(auto& value, std::vector<Taint>& target);
error_code read_spread(auto& value, std::vector<TopologySpreadConstraint>& target);

/// Reads the spec of a claim or claim template into a new `pvc`.
error_code read_pvc_spec(auto& value, PersistentVolumeClaim& pvc);

/// Kind for decode_object() that accepts an envelope of any kind and reads its metadata only.
inline constexpr std::string_view kAnyKind = "*";

/// Returns the message of the envelope's kind, or nullptr if the kind is not in `kinds`.
const protobuf::Message* message_for(const protobuf::Envelope& envelope, std::initializer_list<std::string_view> kinds);
base::Error wrong_kind(const char* what, const protobuf::Envelope& envelope);
base::Error malformed_protobuf(const char* what);
base::Error while_decoding(const char* what, base::Error error);

/// Implements decode_object() for a protobuf envelope.
template <typename T, typename F>
base::Result<T> decode_envelope(std::string_view bytes, const char* what, std::initializer_list<std::string_view> kinds,
                                F& members_of) {
  auto envelope = protobuf::open(bytes);
  if (!envelope) return while_decoding(what, std::move(envelope).error());
  const protobuf::Message* message = message_for(*envelope, kinds);
  if (message == nullptr) return wrong_kind(what, *envelope);
  T decoded;
  const auto others = members_of(decoded);
  const auto member = [&](std::string_view key, ProtoValue& value) {
    return key == "metadata" ? read_meta(value, decoded.meta) : others.read_member(key, value);
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

/// Decodes an object from JSON or from an envelope of one of `kinds`. T must have a member `meta`, which is read here;
/// members_of(T&) returns the members() to read besides.
template <typename T, typename F>
base::Result<T> decode_object(std::string_view bytes, const char* what, std::initializer_list<std::string_view> kinds,
                              F&& members_of) {
  if (protobuf::is_envelope(bytes)) return decode_envelope<T>(bytes, what, kinds, members_of);
  T decoded;
  const auto others = members_of(decoded);
  Lease lease;
  const auto status = read_document(*lease, bytes, what, [&](Object& root) {
    return for_members(root, [&](std::string_view key, Value& value) {
      return key == "metadata" ? read_meta(value, decoded.meta) : others.read_member(key, value);
    });
  });
  if (!status) return status.error();
  return decoded;
}

struct OnlyMeta {
  ObjectMeta meta;
};

}  // namespace api::wire
