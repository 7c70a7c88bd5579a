#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: alone  limit: 600
# The demo, and its transcript in docs/demo.md.
exec "$TOP/test/packaging/transcript.sh" "$B"
