# SPDX-License-Identifier: MIT
# Sourced by verbs*.t after shell_lib.sh: a fabric of virtual adapters, and a
# ring over it.
V=$B/test/fakes/verbs
[ -e "$V/libibverbs.so.1" ] || skip_all "verbs" "libibverbs' header was not there at build time"
export VHCA="$T/fabric" NCCL_SOCKET_IFNAME=lo
yama=/proc/sys/kernel/yama/ptrace_scope
if [ "$(id -u)" -ne 0 ] && [ -e $yama ] && [ "$(cat $yama)" != 0 ]; then
	skip_all "verbs" "processes may not write each other's memory here (yama)"
fi
R=$B/examples/ring-allreduce/ring_allreduce
E=$B/examples/rdma

# ring JOB POLICIES [NAME=value...]: one that stays until end_ring, ready or
# failed, or waiting with --wait; more options are in $OPTIONS. The first send
# of all takes the fault in $FAULT.
ring() {
	ring_job=$1 policies=$2
	shift 2
	rm -f "$T/go" "$VHCA"
	printf '%s' "${FAULT:-}" >"$VHCA"
	mkfifo "$T/go"
	# shellcheck disable=SC2086
	timeout 300 env LD_LIBRARY_PATH="$V" NCCLBPF_JOB="$ring_job" NCCLBPF_POLICY="$policies" \
		NCCLBPF_CHAIN_NET="$V/libnccl-net-verbs.so" NCCLBPF_VERBS=on \
		"$@" "$R" "$B/libncclbpf.so" --rounds 4 --bytes 40960 --hold --open \
		--log ${OPTIONS:-} >"$T/$ring_job" 2>"$T/$ring_job.err" <"$T/go" &
	job=$!
	jobs="$jobs $job"
	exec 3>"$T/go"
	[ "${FAULT:-}" = l ] || await grep -qE 'ready|failed|waiting' "$T/$ring_job"
	cp "$T/$ring_job.err" "$T/why"
}
end_ring() { # CLAIM [STATUS]
	exec 3>&-
	wait $job
	rc=$?
	cat "$T/$ring_job.err" >"$T/why"
	[ $rc -eq "${2:-0}" ]
	ok "$1" $?
}
