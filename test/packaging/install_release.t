#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# `make install` as a user types it: it builds for release, and the plugin stays small.
. "$TOP/test/packaging/install_lib.sh"
unset B VARIANT
installation install
[ "$size" -lt 1048576 ]
say $? "stripped plugin under 1 MB ($size bytes)"
echo "1..$n"
exit $bad
