#pragma once

#include "kube/resource.hpp"

namespace controllers::webhooks {

inline constexpr kube::ResourceType kMutating{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                              "MutatingWebhookConfiguration", false};
inline constexpr kube::ResourceType kValidating{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                                "ValidatingWebhookConfiguration", false};

}  // namespace controllers::webhooks
