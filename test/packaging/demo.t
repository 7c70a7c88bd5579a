#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo, and its transcript in docs/demo.md.
exec "$TOP/test/packaging/transcript.sh" "$B"
