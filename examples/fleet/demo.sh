#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: one job on three sites and a real etcd: a policy for all ranks at
# one fence, an agent killed, the store stopped and started, the change undone.
# The sites are socket directories of this host; the job is that of the real libnccl on virtual
# GPUs where it is found, else the mock NCCL. DEMO_HOST=standin takes the mock NCCL.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NO_COLOR=1 NCCLBPF_JOB=llm
export B NCCL_TUNER_PLUGIN=$B/libncclbpf.so
PATH=$B:$PATH
etcd=test/fakes/etcd/etcd.sh
began=$SECONDS
job= services=

finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	[ "$services" ] && kill "$services" 2>/dev/null && wait "$services" 2>/dev/null
	"$etcd" stop "$dir/etcd" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

title() { printf '\n%s\n%s\n' "$1" "${1//?/-}"; }
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
short() { sed -e "s#$PWD/##g" -e "s#$dir/#DIR/#g" -e "s#$B/##g"; }
do_() { # exit status that it must have, arguments
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | short
	timeout 40 ncclbpf-shell -o table "$@" >"$dir/shown" 2>&1
	rc=$?
	short <"$dir/shown"
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
	[ "$rc" -eq 0 ] || echo "[exit status $rc]"
}
await() { # text, how often; of `ncclbpf-shell -o tsv` and the words after
	local text=$1 times=$2
	shift 2
	for _ in $(seq 600); do
		[ "$(timeout 20 ncclbpf-shell -o tsv "$@" 2>/dev/null |
			grep -c -e "$text")" -eq "$times" ] && return
		sleep 0.1
	done
	fail "never $times of '$text' in: $*"
}

command -v etcd >/dev/null || {
	echo "demo: etcd is not installed (Debian: etcd-server, etcd-client)" >&2
	exit 69
}
title "A store, and a job on three sites"
"$etcd" start "$dir/etcd" || exit 1
NCCLBPF_FLEET=$(cat "$dir/etcd/endpoints")
export NCCLBPF_FLEET
mkdir -m 700 "$dir/a" "$dir/b" "$dir/c"
# an agent for each site, as systemd, Slurm or Kubernetes keeps it running
test/fakes/etcd/agents.py llm "$dir/a" "$dir/b" "$dir/c" >"$dir/log.agents" 2>&1 &
services=$!
start() { # [VARIABLE=VALUE...] PROGRAM OPTIONS...: six ranks on three sites
	env NCCLBPF_SOCKET_DIR="$dir/a" "$@" --ranks 6 --procs --seconds 600 --pause-ms 20 \
		--rank-env "2:NCCLBPF_SOCKET_DIR=$dir/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$dir/b" \
		--rank-env "4:NCCLBPF_SOCKET_DIR=$dir/c" --rank-env "5:NCCLBPF_SOCKET_DIR=$dir/c" \
		>"$dir/log" 2>&1 &
	job=$!
	await attached 6 attach llm
}
vgpu=$B/test/fakes/vgpu
plain() { # does libnccl run on virtual GPUs here
	env -u NCCL_TUNER_PLUGIN LD_PRELOAD="$vgpu/libvgpu.so" \
		"$vgpu/job" --ranks 2 --loops 1 --max 1K >"$dir/log" 2>&1
}
if [ "${DEMO_HOST:-}" != standin ] && [ -x "$vgpu/job" ] && plain; then
	start LD_PRELOAD="$vgpu/libvgpu.so" VGPU_CLOCK=virtual NCCL_NET=Socket NCCL_IB_DISABLE=1 \
		NCCL_SOCKET_IFNAME=lo "$vgpu/job" --per-node 2 --min 1M --max 16M
	echo "Six ranks of the real NCCL 2.28.9 on virtual GPUs, two on each site."
else
	start "$B/test/fakes/host/standin" --nodes 3
	echo "Six ranks of a mock NCCL, two on each site: the same calls into the plugin."
fi
# until all sites have told the store of their ranks
for _ in $(seq 600); do
	[ "$("$etcd" ctl "$dir/etcd" get --prefix --print-value-only /ncclbpf/1/llm/site/ |
		grep -c '"comms":{"')" -eq 3 ] &&
		! timeout 20 ncclbpf-shell -o wide comm list 2>/dev/null |
		grep -q 'have registered' && break
	sleep 0.1
done
echo "NCCLBPF_FLEET=$NCCLBPF_FLEET is all that the job was told." \
	"An agent runs on each site: ncclbpf-agent --job llm."
do_ 0 list
do_ 0 comm list

title "One change for all sites"
do_ 0 policy use "$B/policies/size_aware.policy"
await size_aware 6 comm list
do_ 0 comm list

title "An agent dies"
victim=$(pgrep -f -- "ncclbpf-agent .*--dir $dir/b" | head -1)
kill -KILL "$victim"
echo "kill -KILL of site b's agent: its service manager starts another one."
for _ in $(seq 600); do
	now=$(pgrep -f -- "ncclbpf-agent .*--dir $dir/b" | head -1)
	[ "$now" ] && [ "$now" != "$victim" ] && break
	sleep 0.1
done
[ "$now" ] || fail "no new agent"
await attached 6 attach llm
do_ 0 policy add "$B/policies/force.policy"
await size_aware,force 6 comm list

title "The store goes away, and the job does not notice"
"$etcd" kill "$dir/etcd" 1
do_ 69 policy use none
kill -0 "$job" || fail "the job is gone"
echo "The job goes on with what it has. A site can still be asked on its own host:"
printf '\n$ NCCLBPF_SOCKET_DIR=DIR/a ncclbpf-shell comm list\n'
env -u NCCLBPF_FLEET NCCLBPF_SOCKET_DIR="$dir/a" ncclbpf-shell -o table comm list ||
	fail "no answer"
"$etcd" restart "$dir/etcd" 1
await attached 6 attach llm

title "Back to what it was"
for _ in $(seq 300); do
	timeout 30 ncclbpf-shell -n policy undo >/dev/null 2>&1 && break
	sleep 0.2
done
do_ 0 policy undo
await size_aware 6 comm list
do_ 0 comm list
do_ 0 audit
printf '\n%d s\n' $((SECONDS - began))
