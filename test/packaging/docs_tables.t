#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# The tables of docs/reference.md are made of core/defs/: every row of a table
# file has a line, and a changed row changes the page.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$TOP" || exit 1
. "$TOP/test/tap.sh"
log=$dir/log

awk -f docs/tables.awk docs/reference.md >"$dir/now" 2>"$dir/log"
say $? "docs/reference.md gets its tables"

for t in hooks hook_tuner hook_coll_done hook_p2p_done hook_proxy_step hook_kernel_ch hook_group \
		hook_net_listen hook_net_connect hook_net_accept hook_net_isend hook_net_irecv \
		hook_net_test hook_net_close hook_verbs_qp hook_verbs_post hook_verbs_done \
		hook_verbs_event hook_verbs_mr hook_controller hook_env hook_gin_connect \
		hook_gin_put hook_gin_done hook_gin_signal hook_gin_close hook_coll_api \
		maps helpers rules; do
	rows=$(grep -E '^[A-Z]+\([A-Za-z0-9_]+, ' "core/defs/$t.h" | grep -vc '^VARIANT')
	lines=$(grep "^Table: .core/defs/$t.h." docs/reference.md | awk -f docs/tables.awk | wc -l)
	echo "$rows rows, $lines lines with the heading" >"$dir/log"
	[ "$lines" -eq $((rows + 2)) ]
	say $? "each row of core/defs/$t.h has its line"
done

mkdir -p "$dir/core/defs"
cp core/defs/*.h "$dir/core/defs/"
sed 's/FIELD(tuner, bytes, /FIELD(tuner, octets, /' \
	core/defs/hook_tuner.h >"$dir/core/defs/hook_tuner.h"
(cd "$dir" && awk -f "$TOP/docs/tables.awk" "$TOP/docs/reference.md") |
	grep -q '`octets`' >"$dir/log"
say $? "a renamed field changes the page"

"$B/ncclbpf-shell" -f docs/choices.lua test/fakes/vgpu/b300.csv >"$dir/choices.svg"
diff docs/choices.svg "$dir/choices.svg" >"$dir/log"
say $? "README's plot is that of the published figures (make docs)"

# Without what differs in each run: identities and fences.
shown() { # PAGE
	awk '/^```/ { on = $0 == "```text"; next } on && NF' "$1" |
		sed -E 's/[0-9a-f]{16}/COMM/; s/(committed +)[0-9]+/\1FENCE/'
}
shown docs/demo.md >"$dir/demo"
shown README.md | grep -vxFf "$dir/demo" >"$dir/log"
[ $? -eq 1 ] && [ -s "$dir/demo" ]
say $? "README's output is the demo's"

# Time is inverse to bandwidth.
awk -F, '
	/^AllReduce/ && $2 == "NVLS" { nccl[$5] = $6 }
	/^AllReduce/ && $2 == "RING" && nccl[$5] > 0 && $6 > best[$5] { # the rest is assumed
		best[$5] = $6
		less[$5] = sprintf("%.0f", (1 - nccl[$5] / $6) * 100)
		more[$5] = sprintf("%.0f", (nccl[$5] / $6 - 1) * 100)
	}
	END {
		M = 1048576
		for (m = 4; m <= 32; m *= 2) {
			if (m == 4 || less[m * M] + 0 < low) low = less[m * M] + 0
			if (less[m * M] + 0 > high) high = less[m * M] + 0
		}
		print "takes " low " to " high " % less time with ring"
		print "takes " less[8 * M] " % less time at 8 MiB and " \
			more["8589934592"] " % more at 8 GiB"
	}
' test/fakes/vgpu/b300.csv >"$dir/claims"
tr '\n' ' ' <README.md >"$dir/readme"
bad_claims=0
while read -r claim; do
	grep -qF -- "$claim" "$dir/readme" || { echo "$claim"; bad_claims=1; }
done <"$dir/claims" >"$dir/log"
[ $bad_claims -eq 0 ] && [ "$(wc -l <"$dir/claims")" -eq 2 ]
say $? "README's percentages are those of the published figures"
echo "1..$n"
exit $bad
