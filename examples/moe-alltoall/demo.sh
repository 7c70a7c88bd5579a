#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD [OPTIONS OF moe_job.c]: the all-to-all of experts in both of its
# forms and the hot expert, over the real libnccl on virtual GPUs; with
# OVER=plugin, or where that cannot run, over our plugin alone. Then its puts
# paced: over a slow link with the real libnccl, and over our plugin.
set -u
B=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
job=
finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
export NCCLBPF_SOCKET_DIR="$dir" NCCLBPF_JOB=moe NCCLBPF_GIN=on NO_COLOR=1 NCCLBPF_HISTORY=
export NCCLBPF_POLICY="$B/policies/gin_peers.policy:$B/policies/gin_pace.policy"
export PATH="$PATH:/usr/sbin:/sbin"
export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
real=$B/examples/moe-alltoall/moe_nccl
mkfifo "$dir/go"
front=()

# A ring as long as a dispatch: the kernel does not wait while it posts.
over_nccl() {
	"${front[@]}" env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" NCCLBPF_GIN_QUEUE=2048 NCCL_CUMEM_ENABLE=1 \
		NCCL_WIN_ENABLE=1 NCCL_GIN_NCONTEXTS=1 NCCL_DEBUG=INFO \
		NCCL_DEBUG_FILE="$dir/nccl.%p" "$real" "$@"
}
over_plugin() {
	"$B/examples/moe-alltoall/moe_alltoall" "$B/libncclbpf.so" "$@"
}
# The job has a loopback of its own: all ranks share a link of 100 Mbit/s, as
# the ranks of one host share an adapter. The link's queue holds 8 MB.
link=(unshare -rn sh -c '
	ip link set lo up &&
		tc qdisc add dev lo root tbf rate 100mbit burst 256kb limit 8mb && exec "$@"' link)
over_link() {
	front=("${link[@]}")
	over_nccl "$@"
}
# Set run; where it is not over_nccl, $dir/why has the reason.
choose() {
	run=over_plugin
	if [ "${OVER:-nccl}" = plugin ]; then
		echo "OVER=$OVER" >"$dir/why"
	elif [ ! -x "$real" ]; then
		echo "CUDA's headers, NCCL's device headers, libcu++ or libnccl were missing" \
			"at the build" >"$dir/why"
	elif timeout 60 env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" \
			"$real" --help 2>"$dir/why"; [ $? -eq 77 ]; then
		sed -i -n 's/.*SKIP: *//p' "$dir/why"
	else
		run=over_nccl
	fi
}

# Print the rounds that have ended since the last call.
rounds() {
	for _ in $(seq 1200); do
		[ "$(grep -c '^ready' "$dir/out")" -ge "$1" ] && break
		kill -0 "$job" 2>/dev/null || {
			cat "$dir/err" >&2
			exit 1
		}
		sleep 0.05
	done
	[ "$(grep -c '^ready' "$dir/out")" -ge "$1" ] || {
		echo "demo: the rounds do not end" >&2
		exit 1
	}
	tail -n +$((shown + 1)) "$dir/out" | grep -v -e '^ready' -e '^NCCL version'
	shown=$(wc -l <"$dir/out")
}
sh_() {
	printf '\n$ ncclbpf-shell %s\n' "$*" | sed "s#$PWD/##g"
	timeout 20 "$B/ncclbpf-shell" "$@" || exit 1
}

# Start a job that holds after its rounds: begin FUNCTION [OPTIONS].
begin() {
	shown=0
	: >"$dir/out"
	"$@" --hold <"$dir/go" >"$dir/out" 2>"$dir/err" &
	job=$!
	exec 3>"$dir/go"
	rounds 1
}
end() {
	exec 3>&-
	wait "$job"
	rc=$?
	job=
	[ $rc -eq 0 ] && return
	cat "$dir/err" >&2
	exit $rc
}

choose
echo "Four ranks in two processes, each with two of eight experts."
if [ $run = over_nccl ]; then
	echo "The real libnccl on virtual GPUs, as if on two nodes. Host threads do the work of"
	echo "the kernels, and an all-reduce runs beside each layer."
	echo "Chunks, with counters and flow control by signals:"
else
	echo "Without libnccl ($(cat "$dir/why")): they call our GIN transport" \
		"as NCCL's proxy does."
	echo "Chunks, with counters and flow control by signals:"
fi
$run --mode chunks --rounds 5 "$@" >"$dir/out" 2>"$dir/err" || {
	cat "$dir/out" "$dir/err" >&2
	exit 1
}
grep -v '^NCCL version' "$dir/out"
printf '\nA put for each token; 90 of 100 tokens are for expert 0 of rank 0:\n'
begin $run --mode direct --tokens 2048 --topk 1 --skew 90 --rounds 5 "$@"
printf '\nThe hot expert is where the bytes go:\n'
sh_ -f examples/moe-alltoall/hot.lua
if [ $run = over_nccl ]; then
	printf '\nThe collectives of the same communicator, measured in a second run:\n'
	sh_ telemetry on
	echo go >&3
	rounds 2
	sh_ -o table stats
fi
end

if [ $run = over_nccl ] && "${link[@]}" true 2>"$dir/why"; then
	printf '\nThe same dispatch over a link of 100 Mbit/s. The puts to rank 0 fill its queue:\n'
	begin over_link --mode direct --tokens 2048 --topk 1 --skew 90 --rounds 3 "$@"
	printf '\n%s\n' \
		"The puts to rank 0 paced, 3.7 MB/s from each rank, so that the queue stays short:"
	sh_ map set gin_rate 1 '{rate=3700000, burst=65536}'
	echo go >&3
	rounds 2
	end
elif [ $run = over_nccl ]; then
	printf '\nNo slow link, which needs a network namespace and tc (iproute2): %s\n' \
		"$(head -1 "$dir/why")"
fi

printf '\nOver the plugin alone, which gets all puts of a dispatch at once:\n'
begin over_plugin --mode direct --tokens 2048 --topk 1 --skew 90 "$@"
printf '\nThe puts to rank 0 paced, 400 MB/s from each rank, the others not:\n'
sh_ map set gin_rate 1 '{rate=400000000, burst=65536}'
echo go >&3
rounds 2
sh_ -o table gin
end
