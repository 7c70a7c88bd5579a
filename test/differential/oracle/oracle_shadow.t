#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# What the verifier accepts does no harm: random programs and mutated policies
# run in an interpreter that checks every access, and ranks that differ in
# local data answer alike.
# The seeds are fixed so that a change is judged by what it changes; make check-soak
# takes new ones for ORACLE_SECONDS.
export ORACLE_PROGRAMS="${ORACLE_PROGRAMS:-20000}"
export ORACLE_SECONDS="${ORACLE_SECONDS:-0}" ORACLE_SEED="${ORACLE_SEED:-20261121}"
exec timeout $((ORACLE_SECONDS + 600)) "$B/test/differential/oracle/oracle_shadow" \
	"$TOP/test/corpus/verify" "$B"/policies/*.policy
