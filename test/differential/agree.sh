#!/bin/sh
# SPDX-License-Identifier: MIT
# agree.sh BUILD PROGRAMS: so many new random programs by the interpreter and as
# machine code, here and on 64-bit Arm by qemu-user (ARM64_PROGRAMS of them, as
# many if not given), both at once and at the lowest priority. Each batch's seed
# is said; the first that differs ends it, and its program is printed.
set -u
case ${2:-} in '' | *[!0-9]*)
	sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p;}' "$0"
	exit 64
	;;
esac
B=$1 BATCH=20000
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT

# batches NAME PROGRAMS COMMAND...
batches() {
	name=$1 left=$2 done=0
	shift 2
	while [ "$left" -gt 0 ]; do
		n=$((left < BATCH ? left : BATCH))
		seed=$(date +%s%N)
		JIT_SEED=$seed JIT_PROGRAMS=$n CK_RUN_TEST=random_programs CK_TAP_LOG_FILE_NAME=- \
				nice -n 19 "$@" >"$dir/$name" 2>&1 &&
				grep -q "^# $n programs" "$dir/$name" || {
			cat "$dir/$name"
			echo "$name: FAILED, JIT_SEED=$seed JIT_PROGRAMS=$n; $done agreed before"
			return 1
		}
		left=$((left - n)) done=$((done + n))
		echo "$name: $done programs agree, the last $n from JIT_SEED=$seed"
	done
}

if command -v qemu-aarch64 >/dev/null && [ -x "$B/arm64/test_jit_random" ]; then
	batches arm64 "${ARM64_PROGRAMS:-$2}" qemu-aarch64 "$B/arm64/test_jit_random" &
	arm64=$!
else
	echo "arm64: left out, no qemu-aarch64 or no compiler for it"
	arm64=
fi
batches "$(uname -m)" "$2" "$B/test/unit/test_jit_random"
rc=$?
[ -z "$arm64" ] || wait "$arm64" || rc=1
exit $rc
