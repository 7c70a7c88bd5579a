#!/bin/sh
# SPDX-License-Identifier: MIT
# domains.sh BUILD JOBS [WIDTH...]: the verifier's numbers at 4 to 8 bits on all
# that test_verify_domains_* know, in JOBS processes at a time; what was tried of
# each operation, and how often the result is the tightest there is. SHARE=i/n:
# only the i-th of n shares of it, in one process.
b=$1/test/unit jobs=$2
shift 2
bad=0
for w in ${*:-4 5 6 8 7}; do
	pids=
	rm -f "$b/domains.$w".*
	for i in $([ "$SHARE" ] && echo 0 || seq 0 $((jobs - 1))); do
		DOMAIN_MORE=1000000000 DOMAIN_PART=${SHARE:-$i/$jobs} DOMAIN_SHOW=1 CK_FORK=no \
			"$b/test_verify_domains_$w" >"$b/domains.$w.$i" 2>&1 &
		pids="$pids $!"
	done
	for p in $pids; do wait "$p" || bad=1; done
	cat "$b/domains.$w".* | grep -E ':[FE]:|loses|denies'
	awk -F': ' '/^# tried / {
			split($2, n, /[^0-9]+/)
			if (!($1 in pairs))
				order[++k] = $1
			pairs[$1] += n[1]; looked[$1] += n[2]; exact[$1] += n[3]
			members[$1] += n[4]; least[$1] += n[5]
		}
		END {
			for (i = 1; i <= k; i++) {
				o = order[i]
				printf "%s: %d pairs", substr(o, 9), pairs[o]
				if (looked[o])
					printf ", %.1f %% the tightest, members %.3f " \
						"times the least",
						100 * exact[o] / looked[o], members[o] / least[o]
				print ""
				all += pairs[o]
			}
			printf "'"$w"' bits: %.0f pairs\n", all
		}' "$b/domains.$w".*
done
[ $bad = 0 ] && echo "domains: no member lost" || echo "domains: FAILED"
exit $bad
