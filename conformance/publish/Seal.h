// SPDX-License-Identifier: Apache-2.0
//
// Seal.h: makes the folder of a finished run tamper-evident. `manifest.json`
// lists every file with its SHA-256 and the root of that list; `manifest.sig`
// is an Ed25519 signature (RFC 8032, by libsodium) of the manifest's bytes,
// with the public key beside it.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H
#define BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H

#include "backplane/cpp/Result.h"

#include <string>

namespace backplane::conformance {

/// Writes a new secret key, readable by its owner only, to `path` and the
/// public key to `path`.pub. Neither file may exist.
Status createKey(const std::string &path);

/// Lists and hashes all files below `folder`, signs the list with the secret
/// key in `keyPath`, and writes both files. An older seal is replaced.
Status sealFolder(const std::string &folder, const std::string &keyPath);

/// What checkSeal found.
struct Seal {
  std::string publicKey; ///< 64 hexadecimal digits
  std::string root;      ///< SHA-256 of the list of files
  size_t files = 0;
};

/// Checks that the folder holds exactly the listed files with the listed
/// contents and that the signature is that of the key beside it. When
/// `publicKeyPath` is not empty the key must also be the one in that file.
Result<Seal> checkSeal(const std::string &folder,
                       const std::string &publicKeyPath);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H
