#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# The coordinator is killed, stopped or cut off from the store: another agent coordinates. While
# another site is cut off, no change is made (fleet_cut.py).
set -u
command -v etcd >/dev/null && command -v etcdctl >/dev/null || {
	echo "1..0 # SKIP a coordinator that is cut off: etcd is not installed"
	exit 0
}
dir=$(mktemp -d)
etcd=$TOP/test/fakes/etcd/etcd.sh
end() {
	"$etcd" stop "$dir/etcd" >/dev/null 2>&1
	[ "${KEEP:-}" ] || rm -rf "$dir"
}
trap end EXIT
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/test/bench:$TOP/test/fakes/proxy" \
	python3 "$TOP/test/integration/fleet_cut.py" "$B" "$dir" "$etcd"
status=$?
[ $status -eq 0 ] || tail -40 "$dir/log" | sed 's/^/# /'
exit $status
