#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# A terminal of 80 columns: no command prints a longer line or cuts one, and
# what matters is there. Ranks that agree are one row, what is wrong comes first.
. "$TOP/test/integration/shm_room.sh"
shm_room "narrow terminals" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
need_host "output at 80 columns"
command -v script >/dev/null || skip_all "output at 80 columns" "no script(1)"
trap finish EXIT
cd "$T" || exit 1
export NO_COLOR=1
P=$B/libncclbpf.so

# at COLUMNS ARGS...: the shell at a terminal, its output in $T/out
at() {
	columns=$1
	shift
	echo "stty cols $columns rows 24; exec '$S' --no-rc $*" >line
	timeout 300 script -qec "sh line" /dev/null </dev/null | tr -d '\r' >"$T/out"
	{ echo "$*" && cat "$T/out"; } >"$T/why"
}

# No line is longer than COLUMNS, unless it is one word.
cat >width.lua <<'L'
for l in io.lines(arg[2]) do
	if utf8.len(l) > tonumber(arg[1]) and l:find "%S%s+%S" then
		print("too long: " .. l)
		os.exit(1)
	end
end
L
within() {
	lua5.4 width.lua "$1" "$T/out" >>"$T/why"
}

fits() { # ARGS...: at 80 columns, and at 60
	for columns in 80 60; do
		at $columns "$@"
		[ -s "$T/out" ] && within $columns
		ok "$columns columns: $*" $?
	done
}

# The check itself fails on a long line.
printf '%080d x\n' 0 >"$T/out"
within 80
[ $? -ne 0 ]
ok "a line of 82 columns is too long" $?

NCCL_TUNER_PLUGIN=$P NCCL_PROFILER_PLUGIN=$P NCCLBPF_JOB=demo NCCL_DEBUG='' timeout 0 \
	"$B/test/fakes/host/standin" --ranks 8 --procs --nccl 2.28.9 --min 4K --max 4M \
	--factor 32 --events --seconds inf --pause-ms 2 >standin.out 2>&1 &
jobs="$jobs $!"
all() { run -q -o tsv attach demo && [ "$(wc -l <"$T/out")" -eq 8 ]; }
await all
run -J demo policy load "$B/policies/force.bpf.o"
run -J demo policy load "$B/policies/size_aware.bpf.o"
run -J demo policy use force size_aware
run -J demo telemetry on
measured() { run -J demo -q -o tsv sample tail && [ -s "$T/out" ]; }
await measured

for c in help "help job" "help policies" "help maps" "help decisions" "help measurements" \
		"help rollouts" "help shell" "help environment" "help values" "help exit" \
		"help lua" "help keys" "help policy use" "help rollout start" \
		"policy verify $B/test/corpus/shell/refused.bpf.o" \
		"policy verify $B/examples/demo/out_of_bounds.bpf.o" "map dump depth" \
		"policy verify $B/policies/size_aware.bpf.o" \
		"policy dump $B/policies/force.bpf.o"; do
	fits "$c"
done
for c in list attach status doctor "-v doctor" "policy list" "policy show size_aware" \
		"policy history" "policy simulate none" "policy diff force size_aware" "map list" \
		"map show force" "map dump force" "comm list" "comm show" "decision tail count=5" \
		"sample tail count=5" stats \
		"explain allreduce 4M" choices "check agreement" "change status" \
		"controller status" "env list" "trace status" net "policy time on" \
		"telemetry on"; do
	fits "-J demo $c"
done

at 80 "policy verify $B/test/corpus/shell/refused.bpf.o"
grep -A1 '^ *23 | ' out | tail -n 1 | grep -q '|.*^$'
ok "a refusal: the caret stays below its line" $?
at 80 help
has "help: each group, and what it is for" out "policies " \
	"Verify, load, use and remove policies" "rollouts "
at 80 help policies
has "help GROUP: what each command does, to the end" out "policy simulate" \
	"count the answers that differ"
at 80 -J demo choices
[ "$(wc -l <out)" -lt 24 ]
ok "choices: on one screen of 24 lines, with the prompt" $?
at 80 -J demo stats
has "stats: P99 and bandwidth" out "P50 us" "P99 us" "BUS GB/s"
has "which columns are left out, and how to see them" out "not shown: " "ENQUEUE us" "(-o wide)"
at 80 -J demo -o wide stats
has "which -o wide shows" out "ENQUEUE us" "RECENT P99 us"
at 80 -J demo attach
[ "$(grep -c attached out)" -eq 2 ]
ok "attach: eight ranks that agree are one row" $?
at 80 -J demo doctor
has "doctor: how many checks are ok, of how many ranks" out "checks ok on 8 processes"
rm -rf bad && mkdir bad
NCCLBPF_SOCKET_DIR="$T/s" NCCLBPF_JOB=bad NCCL_ALGO=Ring NCCL_TUNER_PLUGIN=$P timeout 300 \
	"$B/test/integration/control/host" --ranks 2 --procs 2 --rate 50 >bad.out 2>&1 &
jobs="$jobs $!"
await grep -q '^ready' bad.out
at 80 -J bad doctor
[ "$(sed -n 2p out | cut -d' ' -f1)" = nccl_algo ] && within 80
ok "what is wrong comes first, and whole" $?
has "then what is right" out "NCCL_ALGO=Ring" "checks ok on 2 processes"
