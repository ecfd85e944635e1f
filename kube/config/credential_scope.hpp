#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// Key of a Secret that lists the servers which may be sent its credentials. A mounted Secret has it as a file of that
/// name beside the credential.
inline constexpr std::string_view kServersKey = "for";

/// The server that a credential is about to be sent to.
struct CredentialTarget {
  std::string url;
  std::string server_name{};  ///< that the certificate has to be for; "": the host of `url`
  bool is_verified = true;    ///< false: any certificate is accepted
};

/// Decides whether `target` may be sent a credential. `servers`: content of kServersKey, nullopt if it is absent: one
/// https://host[:port] or http://host[:port] each, separated by blanks, line breaks or commas. A server that is not
/// verified counts as http, and only an entry with http permits that. `holder` names what has the key: "Secret
/// ns/name". Error kInvalid: its message names `holder` and the entry to add, and quotes nothing of `servers`. Pure.
base::Status may_send_credentials(const std::optional<std::string>& servers, const CredentialTarget& target,
                                  std::string_view holder);

/// Decides about credentials in `file`, by the file kServersKey in its folder.
base::Status may_send_file(const std::string& file, const CredentialTarget& target);

}  // namespace kube
