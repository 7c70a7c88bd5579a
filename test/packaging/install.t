#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# The build that is tested, installed, used and removed. install_release.t has the build that
# users install.
. "$TOP/test/packaging/install_lib.sh"
installation install-files B="$B"
echo "1..$n"
exit $bad
