#!/bin/sh
# SPDX-License-Identifier: MIT
# transcript.sh BUILD [--record]: run the demo on both hosts of the job and
# compare the one with the real NCCL with the transcript in docs/demo.md, process
# numbers, identities and clocks apart. --record writes it there. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
B=$(cd "$1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
# What differs from run to run, and the width of columns that follows from it. Other jobs on this
# machine have lines of the list, and hints.
plain() {
	sed -E -e '/^hint: pids? [0-9]/d' -e '/^-  +[0-9]+  .* no plugin: /d' \
		-e "s#$B#BUILD#g; s#build/[a-z]+/#BUILD/#g" \
		-e 's/\b[0-9a-f]{16}\b/c0ffee0000000000/g' \
		-e 's/^(c0ffee0000000000 +committed +)[0-9]+( +8 +)[0-8]$/\1N\2N/' \
		-e 's/^(demo +8  0-7 +)[0-9,-]+ +/\1PIDS  /; s/^JOB +PROC.*/JOB/' \
		-e 's/^(-  +1  - +)[0-9]+ +/\1PID  /; s/pid [0-9]+/pid PID/' \
		-e 's/^([a-z_]+ +[0-9a-f]{8}  accepted +[0-9]+ +[0-9]+) +[0-9]+( +8)$/\1 N\2/' \
		-e 's/ +/ /g; s/ $//' "$1"
}
seconds=$(date +%s)
DEMO_HOST=standin timeout 180 "$TOP/examples/demo/demo.sh" "$B" >"$dir/standin" 2>&1
say $? "the demo on the mock NCCL, under three minutes" "$dir/standin"
timeout 180 "$TOP/examples/demo/demo.sh" "$B" >"$dir/real" 2>&1
say $? "the demo, under three minutes ($(($(date +%s) - seconds)) s both)" "$dir/real"
[ "$(grep -cE '^ *4M .* -9\.9  nvlink_ring_mid' "$dir/real")" -eq 1 ]
say $? "the published time at 4 MiB is shown, 9.9 % less" "$dir/real"
if grep -q 'mock NCCL' "$dir/real"; then
	echo "ok $((n + 1)) - the transcript of docs/demo.md # SKIP it is of the real libnccl"
	echo "1..$((n + 1))"
	exit $bad
fi
if [ "${2:-}" = --record ]; then
	awk -v t="$dir/real" '
		/transcript: begin/ {
			print
			print "```text"
			while ((getline line <t) > 0) print line
			print "```"
			skip = 1
		}
		/transcript: end/ { skip = 0 }
		!skip && !/transcript: begin/
	' "$TOP/docs/demo.md" >"$dir/page" &&
		sed -E "s#$B/#build/release/#g; s#$TOP/##g; s#build/debug/#build/release/#g" \
		"$dir/page" >"$TOP/docs/demo.md"
fi
sed -n '/transcript: begin/,/transcript: end/p' "$TOP/docs/demo.md" | sed '1,2d;$d' |
	sed '$d' >"$dir/recorded"
plain "$dir/recorded" >"$dir/want"
sed "s#$TOP/##g" "$dir/real" >"$dir/shown"
plain "$dir/shown" >"$dir/got"
diff "$dir/want" "$dir/got" >"$dir/diff"
same=$?
record="test/packaging/transcript.sh BUILD --record"
say $same "the transcript of docs/demo.md is the demo's ($record renews it)" "$dir/diff"
echo "1..$n"
exit $bad
