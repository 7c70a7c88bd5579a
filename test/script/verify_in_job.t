#!/bin/sh
# SPDX-License-Identifier: MIT
# Offline and in the job the same verdict, byte for byte: every program of
# the corpus that is to be refused is loaded into a running process and
# judged by the shell, and both say the same.
. "$TOP/test/control/lib.sh"

host --ranks 2
mkdir "$T/img"
check "the corpus becomes images" "$C/corpus" \
	"$TOP/test/corpus/verify/reject" "$TOP/test/corpus/verify/coherence" "$T/img"
sed 's/^/# /' "$T/check"
for o in "$B"/test/corpus/reject/*.bpf.o; do
	[ -e "$o" ] || continue
	name=$(basename "$o" .bpf.o)
	# what the loader refuses never becomes an image
	"$B/tools/policy_build" "$o" "$T/img/$name.policy" 2>/dev/null ||
		rm -f "$T/img/$name.policy"
done
ls "$T"/img/*.policy >"$T/list"
while read -r f; do
	printf '!fd %s\npolicy load %s\n' "$f" "$(basename "$f" .policy)"
done <"$T/list" | timeout 100 "$C/client" -t 60 "$S" >"$T/replies"
n=$(wc -l <"$T/list")
check "a reply to each of $n loads" test "$(wc -l <"$T/replies")" -eq "$n"
XDG_RUNTIME_DIR=$T HOME=$T "$B/ncclbpf-shell" -f "$TOP/test/script/verify_in_job.lua" \
	"$T/list" "$T/replies" >"$T/said" 2>&1
cat "$T/said" | cut -c1-3000 | sed 's/^[^#]/# &/'
check "all were refused alike" grep -qx "$n alike, [0-9]* classes, 0 other" "$T/said"
check "over 100 programs" test "$n" -gt 100
stop "refusals"
done_testing
