#pragma once

/// CEL expressions, used in x-kubernetes-validations of our CRDs and in our ValidatingAdmissionPolicies. Language:
/// https://github.com/google/cel-spec. Supported are logic, comparisons, arithmetic, lists, maps, strings, has(), the
/// macros all, exists, exists_one, filter and map, and the functions listed in evaluate.hpp.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace simulator::cel {

enum class Kind {
  kLiteral,   ///< value
  kName,      ///< text
  kList,      ///< operands
  kMap,       ///< operands: key, value, key, value, …
  kMember,    ///< operands[0].text
  kIndex,     ///< operands[0][operands[1]]
  kHas,       ///< has(operands[0].text)
  kCall,      ///< text(operands…)
  kMethod,    ///< operands[0].text(operands[1]…)
  kMacro,     ///< operands[0].text(variable, operands[1])
  kNot,       ///< !operands[0]
  kNegative,  ///< -operands[0]
  kBinary,    ///< operands[0] text operands[1]
  kChoice,    ///< operands[0] ? operands[1] : operands[2]
};

struct Expression {
  Kind kind = Kind::kLiteral;
  std::string text{};      ///< name, member, function or operator
  std::string variable{};  ///< iteration variable of a macro
  api::Json value{};
  std::vector<Expression> operands{};
};

/// Parses an expression. Errors contain the position: "at 12: expected )". Nesting is limited. Never throws.
base::Result<Expression> parse(std::string_view text);

/// Returns true if the expression reads the free variable `name` (a rule that reads `oldSelf` is a transition rule).
bool reads(const Expression& expression, std::string_view name);

}  // namespace simulator::cel
