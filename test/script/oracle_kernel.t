#!/bin/sh
# SPDX-License-Identifier: MIT
# What the verifier accepts, the running kernel's accepts too, but for reasons
# that have a name; and the other way round is counted.
export ORACLE_SECONDS="${ORACLE_SECONDS:-20}"
exec timeout $((ORACLE_SECONDS + 120)) "$B/test/oracle/oracle_kernel" \
	"$TOP/test/corpus/verify"
