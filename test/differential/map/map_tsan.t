#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Threads on the same maps and trace ring, under ThreadSanitizer.
# setarch: the sanitizer of older compilers cannot place its shadow where
# addresses are randomised widely.
fixed=
setarch "$(uname -m)" -R true 2>/dev/null && fixed="setarch $(uname -m) -R"
TSAN_OPTIONS=halt_on_error=0:exitcode=66 timeout 550 $fixed \
	"$B/test/differential/map/map_stress" 5
rc=$?
[ $rc -eq 66 ] && echo "not ok 5 - no data race"
[ $rc -eq 0 ] && echo "ok 5 - no data race"
exit $rc
