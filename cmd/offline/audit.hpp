#pragma once

/// `evacuator audit`: reading the audit log back (docs/audit.md).

#include <string>
#include <vector>

namespace cmd {

struct AuditVerifyOptions {
  std::vector<std::string> files{};  ///< in any order; "-" alone is standard input
  std::string contains{};            ///< "SEQ:HASH" that the chain must contain; empty: none
  bool from_first = false;           ///< the chain must begin with record 1
  std::vector<std::string> keys{};   ///< files with the signing Secret (JSON or YAML), or with the bytes of a key
  std::string output = "text";       ///< text, json
};
/// 0: intact. 1: a link is broken or a signature is wrong, or a record or signature asked for is missing. 2: a file or
/// flag cannot be read. 3: intact but for an unfinished end.
int run_audit_verify(const AuditVerifyOptions& options);

struct AuditQueryOptions {
  std::vector<std::string> files{};
  std::string ns{}, pod{}, policy{}, action{}, decision{}, reason{}, actor{};
  std::string since{}, until{};  ///< RFC 3339, or how long ago: "2h"
  int newest = 0;                ///< 0: all
  std::string output = "table";
};
/// 0: done, whatever was found. 2: a file or flag cannot be read.
int run_audit_query(const AuditQueryOptions& options);

}  // namespace cmd
