#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// Key of a Secret that lists the servers to which its credentials may be sent. In a mounted Secret, it is a file of
/// that name in the credential's folder.
inline constexpr std::string_view kServersKey = "for";

/// Server that a credential is about to be sent to.
struct CredentialTarget {
  std::string url;
  std::string server_name{};  ///< name required in the certificate; "" for the host of `url`
  bool is_verified = true;    ///< false if any certificate is accepted
};

/// Returns OK if a credential may be sent to `target`. `servers` is the content of kServersKey, nullopt if absent:
/// entries https://host[:port] or http://host[:port], separated by spaces, line breaks or commas. A server that is not
/// verified counts as http and requires an http entry. `holder` names the object with the key: "Secret ns/name".
/// Returns kInvalid otherwise; the message names `holder` and the entry to add, and never quotes `servers`. Pure.
base::Status may_send_credentials(const std::optional<std::string>& servers, const CredentialTarget& target,
                                  std::string_view holder);

/// Returns OK if the credentials in `file` may be sent to `target`, according to the file kServersKey in the same
/// folder.
base::Status may_send_file(const std::string& file, const CredentialTarget& target);

}  // namespace kube
