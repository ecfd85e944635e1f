#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/config/credentials.hpp"
#include "kube/config/process_environment.hpp"

namespace kube {

/// Values of the flags --kubeconfig and --context.
struct ConfigFlags {
  std::string kubeconfig;
  std::string context;
};

/// Address of the API server, how to verify it, and the client's credentials.
struct Config {
  std::string server;           ///< "https://10.0.0.1:6443", optionally with a base path
  std::string tls_server_name;  ///< name in the certificate if it is not the URL's host
  bool insecure_skip_tls_verify = false;
  std::string ca_pem;     ///< if empty and without ca_file, the system's roots apply
  std::string ca_file;    ///< read again for every new connection; "" if ca_pem is set
  std::string proxy_url;  ///< http://[user:password@]host:port (CONNECT), from kubeconfig or environment; may be empty
  std::string default_namespace = "default";
  std::string source;  ///< for messages: "context kind-x of /home/a/.kube/config", "the pod's service account"
  std::shared_ptr<Credentials> credentials;  ///< never nullptr
};

/// Loads the first configuration found: --kubeconfig; $KUBECONFIG (a list of files, merged); the pod's service account;
/// ~/.kube/config. --context excludes the service account. A proxy-url of the kubeconfig takes precedence over
/// HTTPS_PROXY and NO_PROXY (proxy_environment.hpp). Errors name the file, the context and the fix, and contain no
/// secrets. `clock` must outlive the credentials.
base::Result<Config> load_config(const ConfigFlags& flags, const Environment& environment, const base::Clock& clock);

/// Returns the configuration of the pod's service account. Its token is read again as the kubelet rotates it. `folder`
/// is the mount path.
base::Result<Config> in_cluster_config(const Environment& environment, const base::Clock& clock,
                                       const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

/// Parses the text of one kubeconfig. Relative paths are relative to `file`. Like load_config() without file
/// access; also the target of fuzzing.
base::Result<Config> config_from_text(std::string_view text, const std::string& file, const std::string& context,
                                      const base::Clock& clock);

}  // namespace kube
