#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/clock.hpp"

namespace base {

/// Why a call failed, with only the distinctions that callers need. kube/classify.cpp maps HTTP status to code.
enum class ErrorCode {
  kInvalid,         ///< the request or the input is wrong; repeating it cannot succeed (400, 422, parse errors)
  kUnauthorized,    ///< 401: credentials missing or expired
  kForbidden,       ///< 403: denied by RBAC or quota
  kNotFound,        ///< 404
  kAlreadyExists,   ///< 409 with reason AlreadyExists
  kConflict,        ///< 409: stale resourceVersion or failed precondition; read the object again
  kGone,            ///< 410: the resourceVersion is too old; list again
  kThrottled,       ///< 429
  kUnavailable,     ///< 5xx, or the request never reached the server; may recover without intervention
  kOutcomeUnknown,  ///< the request may have been executed, but its response was lost
  kTimeout,         ///< our own deadline passed before anything was sent
  kCancelled,       ///< cancelled by this process (shutdown)
  kUnsupported,     ///< the server or this build does not support the feature
};

/// CamelCase name used in logs, conditions and metric labels, for example "NotFound".
std::string_view to_string(ErrorCode code);

/// A failure as a value. `message` is human-readable and never parsed.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::optional<Duration> retry_after{};  ///< delay requested by the server, if any

  /// Prepends the step that failed: "reading kubeconfig: no such file".
  Error during(std::string_view step) && {
    message.insert(0, ": ").insert(0, step);
    return std::move(*this);
  }
  Error during(std::string_view step) const& { return Error(*this).during(step); }

  friend bool operator==(const Error&, const Error&) = default;
};

inline Error invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }
inline Error unavailable(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }
inline bool is_not_found(const Error& error) { return error.code == ErrorCode::kNotFound; }

/// Returns true if the same call may succeed later without a change by the user.
bool is_retriable(ErrorCode code);

/// A value, or the Error that prevented it. Dereferencing an error aborts; check ok() first.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  const Error& error() const& { return ok() ? die() : *std::get_if<1>(&state_); }
  Error error() && { return ok() ? die() : std::move(*std::get_if<1>(&state_)); }

 private:
  T& value() {
    if (!ok()) std::abort();
    return *std::get_if<0>(&state_);
  }
  [[noreturn]] static Error& die() { std::abort(); }

  std::variant<T, Error> state_;
};

/// Value of a successful step that returns nothing.
struct Done {
  friend bool operator==(Done, Done) = default;
};
using Status = Result<Done>;

/// Overload set for std::visit.
template <typename... F>
struct Overload : F... {
  using F::operator()...;
};
template <typename... F>
Overload(F...) -> Overload<F...>;

}  // namespace base
