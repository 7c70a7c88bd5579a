#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Links of the agents to the coordinator: changes go over them; when the
# coordinator is killed, stopped or cut off from the store, the store carries
# orders and answers until the agents are linked again (fleet_link.py).
set -u
command -v etcd >/dev/null && command -v etcdctl >/dev/null || {
	echo "1..0 # SKIP links: etcd is not installed"
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
	python3 "$TOP/test/integration/fleet_link.py" "$B" "$dir" "$etcd"
status=$?
[ $status -eq 0 ] || tail -40 "$dir/log" | sed 's/^/# /'
exit $status
