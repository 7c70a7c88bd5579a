#!/bin/sh
# SPDX-License-Identifier: MIT
# What the verifier accepts does no harm: random programs and mutated policies
# run in an interpreter that checks every access, and ranks that differ in
# local data answer alike.
export ORACLE_SECONDS="${ORACLE_SECONDS:-25}"
exec timeout $((ORACLE_SECONDS + 120)) "$B/test/oracle/oracle_shadow" \
	"$TOP/test/corpus/verify" "$B"/policies/*.policy
