#!/bin/sh
# SPDX-License-Identifier: MIT
# The interpreter agrees with bpf_conformance's programs, whose data files are
# not a part of this repository.
set -u
if [ -z "${SHARED:-}" ] || [ ! -d "$SHARED/conformance" ]; then
	echo "ok 1 - conformance # SKIP no data files in ../shared/conformance"
	exit 0
fi
exec "$B/test/conformance_run" "$B/test/conformance_plugin" "$SHARED/conformance"
