#include "base/result.hpp"

namespace base {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "Invalid";
    case ErrorCode::kUnauthorized: return "Unauthorized";
    case ErrorCode::kForbidden: return "Forbidden";
    case ErrorCode::kNotFound: return "NotFound";
    case ErrorCode::kAlreadyExists: return "AlreadyExists";
    case ErrorCode::kConflict: return "Conflict";
    case ErrorCode::kGone: return "Gone";
    case ErrorCode::kThrottled: return "Throttled";
    case ErrorCode::kUnavailable: return "Unavailable";
    case ErrorCode::kOutcomeUnknown: return "OutcomeUnknown";
    case ErrorCode::kTimeout: return "Timeout";
    case ErrorCode::kCancelled: return "Cancelled";
    case ErrorCode::kUnsupported: return "Unsupported";
  }
  std::abort();
}

bool is_retriable(ErrorCode code) {
  switch (code) {
    case ErrorCode::kConflict:
    case ErrorCode::kGone:
    case ErrorCode::kThrottled:
    case ErrorCode::kUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kTimeout:
    case ErrorCode::kUnauthorized: return true;  // succeeds after token rotation
    case ErrorCode::kInvalid:
    case ErrorCode::kForbidden:
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kCancelled:
    case ErrorCode::kUnsupported: return false;
  }
  std::abort();
}

}  // namespace base
