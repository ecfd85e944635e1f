#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/config/credentials.hpp"
#include "kube/config/process_environment.hpp"

namespace kube {

/// The command line's say. `evacuator` offers them as --kubeconfig and --context.
struct ConfigFlags {
  std::string kubeconfig;
  std::string context;
};

/// Where the API server is, how to be sure it is the right one, and who we are.
struct Config {
  std::string server;           ///< "https://10.0.0.1:6443", maybe with a base path
  std::string tls_server_name;  ///< name in the certificate when it is not the URL's host
  bool insecure_skip_tls_verify = false;
  std::string ca_pem;     ///< empty and no ca_file: the system's roots
  std::string ca_file;    ///< read again for every new connection; "" when ca_pem is given
  std::string proxy_url;  ///< http://[user:password@]host:port (CONNECT), by kubeconfig or environment; empty: none
  std::string default_namespace = "default";
  std::string source;  ///< for messages: "context kind-x of /home/a/.kube/config", "the pod's service account"
  std::shared_ptr<Credentials> credentials;  ///< never nullptr
};

/// In this order: --kubeconfig; $KUBECONFIG (a list of files, merged); the pod's service account; ~/.kube/config.
/// --context rules the service account out. A proxy-url of the kubeconfig beats HTTPS_PROXY and NO_PROXY
/// (proxy_environment.hpp). Errors name the file, the context and the fix; never a secret. `clock` must outlive the
/// credentials.
base::Result<Config> load_config(const ConfigFlags& flags, const Environment& environment, const base::Clock& clock);

/// The pod's service account, its token re-read as the kubelet rotates it. `folder` is where it is mounted.
base::Result<Config> in_cluster_config(const Environment& environment, const base::Clock& clock,
                                       const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

/// One kubeconfig's text, whose relative paths start at `file`. load_config() without files; also what is fuzzed.
base::Result<Config> config_from_text(std::string_view text, const std::string& file, const std::string& context,
                                      const base::Clock& clock);

}  // namespace kube
