#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace controllers {

/// Signing keys of the operator, shared by all replicas. Thread-safe.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Called about once per second; cheap while no refresh is due. If `leads` is true, may create and rotate keys,
  /// otherwise only reads them. May call the API server.
  virtual void refresh(bool leads) = 0;
  /// Returns nullptr if no keys are available (yet). Nothing can then be signed or verified.
  virtual std::shared_ptr<const crypto::KeyRing> keys() const = 0;
  /// Reason why no keys are available or the last refresh failed. Empty if the keys are up to date.
  virtual std::string problem() const = 0;
};

/// Returns one random key shared by the whole process, for simulations and tests without a second process.
KeySource& process_keys();

struct SecretKeyOptions {
  std::string ns;
  std::string name = "evacuator-signing";
  /// Zero disables rotation. Signatures of the previous key stay valid until the next rotation.
  base::Duration rotate_after = base::minutes(60 * 24 * 30);
};

/// Annotation of the Secret: time at which the current key was created. Removing it makes the leader rotate at its next
/// refresh.
inline constexpr std::string_view kRotatedAtAnnotation = "evacuator.dev/rotated-at";

/// Decoded contents of the signing Secret.
struct SecretContent {
  crypto::KeyRing keys;
  std::optional<base::TimePoint> rotated_at;
};
/// An error names the part that is invalid.
base::Result<SecretContent> decode_signing_secret(const api::Json& secret);
/// Returns `secret` (null creates a new one) with the keys of `content`. Other contents of the Secret are preserved.
api::Json encode_signing_secret(api::Json secret, const SecretKeyOptions& options, const SecretContent& content);

/// Keys in a Secret in the operator's namespace, which tenants cannot read. The leader creates a missing Secret (with
/// the current key that it knows, if any, as the previous one) and rotates the keys. A Secret that cannot be read or is
/// invalid is reported and never overwritten; keys that were read before stay in use.
class SecretKeys final : public KeySource {
 public:
  /// The references must outlive the object. `clock` gives the ages of keys. `steady` gives the time between two
  /// refreshes; nullptr selects `clock`.
  SecretKeys(kube::Client& client, const base::Clock& clock, SecretKeyOptions options, base::Log log,
             const base::Clock* steady = nullptr);

  void refresh(bool leads) override;
  std::shared_ptr<const crypto::KeyRing> keys() const override;
  std::string problem() const override;

  /// Interval between two reads of the Secret, which bounds the delay until an external change is noticed; and the
  /// interval after a failure.
  static constexpr base::seconds kLookEvery{60};
  static constexpr base::seconds kRetryEvery{5};

 private:
  base::Status look(bool leads);
  base::Status make();
  base::Status rotate(const api::Json& secret, const SecretContent& old);
  base::Status take(const SecretContent& content);
  void conclude(const base::Status& looked, bool leads);
  std::string where() const { return options_.ns + "/" + options_.name; }

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const SecretKeyOptions options_;
  const base::Log log_;

  std::mutex refreshing_;  ///< serializes refresh()
  base::TimePoint next_check_ = base::TimePoint::min();
  bool led_ = false;

  mutable std::mutex mutex_;  ///< guards the members below
  std::shared_ptr<const crypto::KeyRing> keys_;
  std::string problem_;
};

}  // namespace controllers
