#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# What the verifier accepts, the running kernel's accepts too, but for reasons
# that have a name; and the other way round is counted.
# The seeds are fixed so that a change is judged by what it changes; make check-soak
# takes new ones for ORACLE_SECONDS.
export ORACLE_PROGRAMS="${ORACLE_PROGRAMS:-3000}"
export ORACLE_SECONDS="${ORACLE_SECONDS:-0}" ORACLE_SEED="${ORACLE_SEED:-20261121}"
exec timeout $((ORACLE_SECONDS + 800)) "$B/test/differential/oracle/oracle_kernel" \
	"$TOP/test/corpus/verify"
