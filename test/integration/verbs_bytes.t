#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Real bytes through NCCL's own InfiniBand: virtual GPUs that move data
# (VGPU_DATA=1) put chunks into NCCL's buffers, NCCL posts them to the virtual
# adapter, and they come out of NCCL's buffers at the peer. The job checks every
# element; programs count what the queue pairs carried.
. "$TOP/test/integration/shm_room.sh"
shm_room "bytes through NCCL's InfiniBand" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	skip_all "bytes through NCCL's InfiniBand" "no libnccl and CUDA headers at build time"
fi
trap finish EXIT
cd "$TOP" || exit 1

# nccl JOB RANKS COLLS MIN MAX FACTOR [NAME=value...]: one loop over the sizes,
# then the ranks stay until the job is told to stop. $FAULT as in verbs_lib.sh.
nccl() {
	ring_job=$1 ranks=$2 colls=$3 min=$4 max=$5 factor=$6
	shift 6
	printf '%s' "${FAULT:-}" >"$T/$ring_job.fabric"
	env VHCA="$T/$ring_job.fabric" LD_LIBRARY_PATH="$V" \
		LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual VGPU_DATA=1 \
		NCCL_NET=IB NCCL_GIN_TYPE=0 NCCL_MAX_NCHANNELS=2 NCCL_ALGO=Ring NCCL_PROTO=Simple \
		NCCLBPF_JOB="$ring_job" NCCLBPF_VERBS=on NCCLBPF_NET=off \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCLBPF_POLICY="$V/bytes.bpf.o" \
		"$@" timeout -k 60 550 "$J" --ranks "$ranks" --procs --per-node 1 --coll "$colls" \
		--min "$min" --max "$max" --factor "$factor" --check --loops 2 \
		--pause-ms 540000 >"$T/$ring_job" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
# The bytes that one loop sends: in SendRecv each rank sends its message once; a
# ring AllReduce sends each byte 2 (n - 1) times, the other rings n - 1 times.
want() {
	sum=0 size=$min
	while [ "$size" -le "$max" ]; do
		for coll in $(echo "$colls" | tr , " "); do
			hops=$((ranks - 1)) part=4
			case $coll in
			sendrecv) hops=$ranks ;;
			allreduce) hops=$((2 * hops)) ;;
			allgather | reducescatter) part=$((4 * ranks)) ;;
			esac
			sum=$((sum + size / part * part * hops))
		done
		size=$((size * factor))
	done
	echo $sum
}
# A receiver grants each message by a write of 64 bytes, so the queue pairs of
# senders receive nothing.
cat >"$T/bytes.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local sent, messages, granted, received, received_bytes = 0, 0, 0, 0, 0
for _, p in ipairs(d.processes) do
	for _, e in ipairs(p.data.entries) do
		local m = e.value
		assert(m.errors == 0, "errors")
		if m.receives == 0 then
			sent, messages = sent + m.sent_bytes, messages + m.sends
		else
			granted, received = granted + m.sent_bytes, received + m.receives
			received_bytes = received_bytes + m.received_bytes
		end
	end
end
print(("sent %d of %d bytes, messages %d, received %d with %d bytes, granted %d"):format(
	sent, WANT, messages, received, received_bytes, granted))
assert(#d.processes == RANKS and sent == WANT)
assert(messages == received and granted == 64 * messages)
assert(not BOTH_ENDS or received_bytes == WANT)
assert(not MESSAGES or messages == MESSAGES)
L
counted() {
	kill -0 $job 2>/dev/null || return 0
	run -J "$ring_job" -o json map dump moved
	[ "$rc" -eq 0 ] && lua_run -e "
		WANT, RANKS, MESSAGES, BOTH_ENDS = $(want), $ranks, ${1:-nil}, ${2:-nil}
		dofile '$T/bytes.lua'" <"$T/out" >"$T/counted" 2>&1
}
skipped() {
	grep -q '^vgpu: SKIP' "$T/$ring_job" &&
		skip_all "bytes through NCCL's InfiniBand" \
			"$(sed -n 's/^vgpu: SKIP: //p' "$T/$ring_job" | head -1)"
}
# done_well CLAIM [MESSAGES [BOTH_ENDS]]
done_well() {
	await counted "${2:-}" "${3:-}"
	skipped
	counted "${2:-}" "${3:-}" && kill -TERM $job 2>/dev/null
	rc=$?
	cat "$T/$ring_job" "$T/counted" >"$T/why" 2>/dev/null
	ok "$1: hooks count $(want) bytes" $rc
	kill -TERM $job 2>/dev/null
	wait $job
	rc=$?
	cp "$T/$ring_job" "$T/why"
	ok "and every element is right" $rc
}

every=sendrecv,broadcast,reduce,allreduce,allgather,reducescatter
nccl one 2 sendrecv 4096 4096 2
done_well "SendRecv of one chunk" 2

# An adapter that delivers one wrong byte and reports success; a protocol whose
# data nobody moves. These jobs run beside the next one.
FAULT=b nccl broken_sendrecv 2 sendrecv 100000 100000 2
broken_sendrecv=$job
FAULT=b nccl broken_allreduce 2 allreduce 100000 100000 2
broken_allreduce=$job
nccl refused 2 allreduce 4096 4096 2 NCCL_PROTO=LL
refused=$job

nccl many 2 $every 8 8000000 31 NCCL_IB_ADAPTIVE_ROUTING=0
done_well "every collective on 2 ranks, 8 bytes to 7 MB" "" true

noticed() { # COLL PID
	wait "$2"
	rc=$?
	cp "$T/broken_$1" "$T/why"
	[ $rc -ne 0 ] && grep -qE \
		"^job: rank [01]: $1 of 100000 bytes in loop 0: element [0-9]+ is .*, not [0-9]+" \
		"$T/why"
	ok "$1: a byte that the adapter breaks is noticed" $?
}
noticed sendrecv $broken_sendrecv
noticed allreduce $broken_allreduce
wait $refused
[ $? -ne 0 ]
ok "another protocol: the job fails" $?
has "and says why" refused "AllReduce Sum f32 RING/LL" \
	"VGPU_DATA=1 cannot play any collective but RING/SIMPLE, by sum"

nccl four 4 $every 1000004 5000020 5 NCCL_MIN_NCHANNELS=2 NCCL_BUFFSIZE=262144
done_well "and on 4 ranks, 2 channels, small buffers, sizes that are no multiple of a chunk"
