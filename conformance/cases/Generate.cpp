// SPDX-License-Identifier: Apache-2.0
#include "Maker.h"

namespace backplane::conformance {

void generateUnits(const Selection &selection,
                   const std::function<bool(Unit)> &put) {
  for (auto *family :
       {makeElementwise, makeSums, makeConvolutions, makeMovement})
    if (!family(selection, put))
      return;
}

} // namespace backplane::conformance
