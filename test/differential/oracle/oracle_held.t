#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# What must be given back: each corpus program about ring buffers has
# the verdict of the running kernel, but for reasons that have a
# name.
exec timeout 120 "$B/test/differential/oracle/oracle_held" "$TOP/test/corpus/verify"
