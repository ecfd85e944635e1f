#pragma once

/// `evacuator audit`: verifies and queries the audit log (docs/audit.md).

#include <string>
#include <vector>

namespace cmd {

struct AuditVerifyOptions {
  std::vector<std::string> files{};  ///< in any order; a single "-" is standard input
  std::string contains{};            ///< "SEQ:HASH" that the chain must contain, no check if empty
  bool from_first = false;           ///< require that the chain begins with record 1
  std::vector<std::string> keys{};   ///< files with the signing Secret (JSON or YAML), or with the raw bytes of a key
  std::string output = "text";       ///< text, json
};
/// Returns 0 if the log is intact; 1 if a link is broken, a signature is invalid, or a required record or signature is
/// missing; 2 if a file or flag cannot be read; 3 if the log is intact except for a truncated end.
int run_audit_verify(const AuditVerifyOptions& options);

struct AuditQueryOptions {
  std::vector<std::string> files{};
  std::string ns{}, pod{}, policy{}, action{}, decision{}, reason{}, actor{};
  std::string since{}, until{};  ///< RFC 3339, or an age such as "2h"
  int newest = 0;                ///< maximum number of newest records, 0 for all
  std::string output = "table";
};
/// Returns 0 on success, even without matches; 2 if a file or flag cannot be read.
int run_audit_query(const AuditQueryOptions& options);

}  // namespace cmd
