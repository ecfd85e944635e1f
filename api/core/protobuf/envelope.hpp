#pragma once

/// How Kubernetes wraps an object in protobuf: four bytes that no JSON text begins with, then a runtime.Unknown with
/// the object's kind and bytes. Whoever decodes an object takes either JSON or such an envelope.

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace api::protobuf {

inline constexpr std::string_view kMediaType = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kMagic{"k8s\0", 4};

inline bool is_envelope(std::string_view bytes) { return bytes.starts_with(kMagic); }

struct Envelope {
  std::string api_version;  ///< "" when it does not say
  std::string kind;         ///< the same
  std::string_view body;    ///< into the bytes that were opened
};

/// kInvalid: no envelope, truncated, or its body is encoded in a way that we do not know.
base::Result<Envelope> open(std::string_view bytes);

/// The same the other way round.
std::string seal(std::string_view api_version, std::string_view kind, std::string_view body);

/// A metav1.Status as JSON text, as far as kube/classify.hpp reads it. kInvalid: it is none.
base::Result<std::string> status_json(std::string_view envelope);

}  // namespace api::protobuf
