#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu.sh BUILD: what ncclbpf costs two ranks on one real GPU, which are joined by sockets:
# loops of one all-reduce of SIZE (1K) a second without a plugin, with the plugin, with a policy,
# and with a policy and telemetry. ROUNDS (5) runs of SECONDS_EACH (4), one after the other in turn;
# prints medians and their ratio to those without a plugin.
set -u
B=$(cd "$1" && pwd)
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-4} size=${SIZE:-1K}
[ -c /dev/nvidia0 ] || {
	echo "skipped: there is no GPU"
	exit 0
}
dir=$(mktemp -d)
on=
end() {
	kill "$on" 2>/dev/null
	[ "${CUDA_MPS_PIPE_DIRECTORY:-}" = "$dir/mps" ] && echo quit | nvidia-cuda-mps-control
	rm -rf "$dir"
}
trap end EXIT
# Without MPS the GPU gives each process milliseconds in turn.
if command -v nvidia-cuda-mps-control >/dev/null; then
	mkdir "$dir/mps"
	export CUDA_MPS_PIPE_DIRECTORY="$dir/mps" CUDA_MPS_LOG_DIRECTORY="$dir/mps"
	nvidia-cuda-mps-control -d
else
	echo "nvidia-cuda-mps-control was not found, so the two processes take turns on the GPU"
fi
mkdir -m 700 "$dir/s"
export NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_NET=Socket NCCLBPF_SOCKET_DIR="$dir/s"
lib=$B/libncclbpf.so
one() { # NAME VARIABLE=VALUE...: a run -> a line "NAME LOOPS" in $dir/loops
	name=$1
	shift
	env "$@" timeout 60 "$B/test/fakes/vgpu/job" --procs --per-node 1 --ranks 2 \
		--seconds "$seconds" --min "$size" --max "$size" >"$dir/out" 2>&1 ||
		echo "$name failed: $(tail -1 "$dir/out")" >&2
	sed -n "s/^job: .* \([0-9]*\) loops, ok/$name \1/p" "$dir/out" >>"$dir/loops"
}
n=0
while [ $n -lt "$rounds" ]; do
	one none NCCL_TUNER_PLUGIN=none
	one plugin NCCL_TUNER_PLUGIN="$lib"
	one policy NCCL_TUNER_PLUGIN="$lib" NCCLBPF_POLICY="$B/policies/noop.policy"
	until timeout 5 "$B/ncclbpf-shell" -q -J "run$n" telemetry on >/dev/null 2>&1; do
		sleep 0.05
	done &
	on=$!
	one telemetry NCCL_TUNER_PLUGIN="$lib" NCCLBPF_POLICY="$B/policies/noop.policy" \
		NCCL_PROFILER_PLUGIN="$lib" NCCLBPF_JOB="run$n"
	kill "$on" 2>/dev/null
	n=$((n + 1))
done
sort -k1,1 -k2,2n "$dir/loops" | awk -v seconds="$seconds" -v size="$size" '
	{ at[$1, ++n[$1]] = $2 }
	function median(w) {
		if (n[w] % 2) return at[w, (n[w] + 1) / 2]
		return (at[w, n[w] / 2] + at[w, n[w] / 2 + 1]) / 2
	}
	END {
		split("none plugin policy telemetry", words, " ")
		for (i = 1; i <= 4; i++) {
			w = words[i]
			if (!n[w]) continue
			printf "all-reduce of %s, %s: %.0f a second (median of %d), %.3f x\n",
				size, w, median(w) / seconds, n[w], median(w) / median("none")
		}
	}'
