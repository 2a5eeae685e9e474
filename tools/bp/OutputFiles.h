// SPDX-License-Identifier: Apache-2.0
//
// OutputFiles.h: which files a command may write: none that it reads, none that
// is no regular file, and none twice; and what files of outputs are called.
#ifndef BACKPLANE_TOOLS_BP_OUTPUTFILES_H
#define BACKPLANE_TOOLS_BP_OUTPUTFILES_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace backplane {

/// The files of one command.
class OutputFiles {
public:
  /// A file that is read; one that is not there counts for nothing.
  void reads(const std::string &path);
  /// Whether the command may write `path`, which then is taken.
  Status writes(const std::string &path);

private:
  std::map<std::pair<uint64_t, uint64_t>, std::string> read_; ///< by inode
  std::map<std::string, std::string> written_; ///< by folder and name
};

/// A file name for each name of an output, without extension: '/', ':' and
/// control characters become '_', what is too long ends in a hash, and what
/// would be the same, also where case does not count, gets a number.
std::vector<std::string> fileNames(const std::vector<std::string> &names);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_OUTPUTFILES_H
