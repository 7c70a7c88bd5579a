#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo, and its transcript in the README.
exec "$TOP/test/packaging/transcript.sh" "$B"
