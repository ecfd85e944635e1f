#pragma once

/// Kubernetes' protobuf encoding of an object: four bytes that never begin JSON text, then a runtime.Unknown with the
/// object's kind and bytes. Decoders accept either JSON or such an envelope.

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace api::protobuf {

inline constexpr std::string_view kMediaType = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kMagic{"k8s\0", 4};

inline bool is_envelope(std::string_view bytes) { return bytes.starts_with(kMagic); }

struct Envelope {
  std::string api_version;  ///< "" if missing
  std::string kind;         ///< "" if missing
  std::string_view body;    ///< view into the bytes passed to open()
};

/// Returns kInvalid if the bytes are not an envelope, are truncated, or use an unknown content encoding.
base::Result<Envelope> open(std::string_view bytes);

/// Encodes an envelope; the inverse of open().
std::string seal(std::string_view api_version, std::string_view kind, std::string_view body);

/// Converts a metav1.Status to JSON text with the fields that kube/classify.hpp reads. Returns kInvalid if the envelope
/// contains another kind.
base::Result<std::string> status_json(std::string_view envelope);

}  // namespace api::protobuf
