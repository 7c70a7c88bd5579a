#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: aarch64-linux-gnu-as
# Each encoding of core/bpf/exec/jit/enc_arm64.h is the one that the assembler makes of
# the same instruction's text.
set -u
as=aarch64-linux-gnu-as
if ! command -v $as >/dev/null; then
	echo "1..0 # SKIP arm64 encodings: no $as (package binutils-aarch64-linux-gnu)"
	exit 0
fi
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
"$B/test/differential/arm64/enc" >"$dir/ours" && cut -f2 "$dir/ours" >"$dir/text.s" &&
	$as -march=armv8.5-a -o "$dir/text.o" "$dir/text.s" 2>"$dir/log" &&
	aarch64-linux-gnu-objcopy -O binary -j .text "$dir/text.o" "$dir/code" &&
	od -An -tx4 -v -w4 "$dir/code" | tr -d ' ' >"$dir/theirs" &&
	cut -f1 "$dir/ours" | paste - "$dir/theirs" "$dir/text.s" |
	awk -F'\t' '
		$1 != $2 { bad++; print "#", $3 ": " $1 ", not " $2 }
		END {
			if (NR < 700) bad++
			printf "%s 1 - arm64: %d encodings as the assembler has them\n1..1\n",
				bad ? "not ok" : "ok", NR - bad
			exit bad > 0
		}'
rc=$?
[ -s "$dir/log" ] && sed 's/^/# /' "$dir/log"
exit $rc
