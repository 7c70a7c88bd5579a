#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# examples/monitoring: Prometheus accepts the alerts and they fire in its own
# unit tests; alerts and dashboard ask only for metrics that `metrics` prints.
cd "$TOP/examples/monitoring" || exit 70
n=0
ok() { # name, status
	n=$((n + 1))
	[ "$2" -eq 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}
promtool=$(command -v promtool || ls "$TOP/build/tools/promtool" 2>/dev/null)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -n "$promtool" ]; then
	"$promtool" check rules alerts.yml >"$dir/log" 2>&1
	ok "Prometheus accepts the alerts" $?
	"$promtool" test rules alerts_test.yml >"$dir/log" 2>&1
	ok "each alert fires when it should, and not before" $?
	# and the tests notice an alert that does not
	sed 's/\(increase(ncclbpf_policy_faults_total\[10m\]))\) > 0/\1 > 99/' \
		alerts.yml >"$dir/alerts.yml"
	cp alerts_test.yml "$dir/"
	! "$promtool" test rules "$dir/alerts_test.yml" >"$dir/log" 2>&1
	ok "an alert that stays silent fails the tests" $?
else
	ok "alerts # SKIP no promtool (test/setup.sh promtool)" 0
fi
tested=$(grep -o 'alertname: [A-Za-z]*' alerts_test.yml | sort -u | wc -l)
[ "$tested" -eq "$(grep -c '  - alert: ' alerts.yml)" ]
ok "each of $tested alerts has a test" $?

python3 - "$TOP/lua/ncclbpf/commands/metrics.lua" \
	"$TOP/lua/ncclbpf/commands/metrics_gin.lua" >"$dir/log" 2>&1 <<'P'
import json, re, sys
board = json.load(open("dashboard.json"))
printed = set()
for source in sys.argv[1:]:
    printed |= set(re.findall(r'"((?:nccl|ncclbpf)_[a-z0-9_]+)"', open(source).read()))
text = json.dumps(board) + open("alerts.yml").read()
asked = set(re.findall(r'\b(ncclbpf_[a-z_]+|nccl_[a-z_]+)\b', text))
asked = {a.removesuffix("_bucket") for a in asked}
assert len(asked) > 8, asked
assert not asked - printed, asked - printed
ids = [p["id"] for p in board["panels"]]
assert len(ids) == len(set(ids)) and all(p["targets"] for p in board["panels"])
for p in board["panels"]:  # panels do not overlap
    g = p["gridPos"]
    assert g["x"] + g["w"] <= 24
P
rc=$?
sed 's/^/# /' "$dir/log"
ok "dashboard and alerts ask only for metrics that are printed" $rc
echo "1..$n"
