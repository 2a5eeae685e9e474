// SPDX-License-Identifier: Apache-2.0
//
// Seal.h: makes the folder of a finished run tamper-evident. `manifest.json`
// lists every file with its SHA-256 and the root of that list; `manifest.sig`
// is an Ed25519 signature (RFC 8032, by libsodium) of the manifest's bytes,
// with the public key beside it.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H
#define BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H

#include "backplane/cpp/Result.h"

#include <map>
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
  std::string owner;     ///< name that the verifier has for the key, see trust
  std::string root;      ///< SHA-256 of the list of files
  size_t files = 0;
};

/// Checks that the folder holds exactly the listed files with the listed
/// contents and that the signature is that of the key beside it. When
/// `publicKeyPath` is not empty the key must also be the one in that file.
Result<Seal> checkSeal(const std::string &folder,
                       const std::string &publicKeyPath);

/// Short form of a public key (64 hexadecimal digits) for people to compare:
/// 128 bits of its SHA-256 as "ab12:cd34:…".
std::string fingerprint(const std::string &publicKey);

/// Reads a file of known keys: lines "NAME KEY", `#` starts a comment. Gives
/// names by key; refuses damage and one key under two names.
Result<std::map<std::string, std::string>>
readKnownKeys(const std::string &path);
/// Where it is looked for: backplane/known_keys in $XDG_CONFIG_HOME or
/// ~/.config.
std::string defaultKnownKeys();

/// Whose key is taken.
struct KeyRules {
  std::string publicKey; ///< file of the one key; empty: the known ones
  std::string knownKeys; ///< file of them; empty: defaultKnownKeys, if there
  bool any = false;      ///< others too
};
/// Refuses a seal by a key that the rules do not know, and names its owner.
Status trust(Seal &seal, const KeyRules &rules);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_SEAL_H
