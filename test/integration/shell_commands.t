#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Each command on a running job of eight processes: what people see and what
# programs get, of its answer and of its error.
. "$TOP/test/integration/shell_lib.sh"
need_host "commands on a running job"
trap finish EXIT
cd "$T" || exit 1
for p in force size_aware noop; do cp "$B/policies/$p.bpf.o" .; done
cp "$B/test/corpus/shell/refused.bpf.o" "$B/test/corpus/shell/types.bpf.o" .
job demo --ranks 8 --procs 8 --rate 400

# other jobs of this machine may be there as well: only ours counts
status 0 "list" -o table list
has "shows the job, its ranks and that it can be attached to" out "JOB " "demo " "0-7" "attachable"
run -o json list
lua_run -e 'local n, d = 0, require "ncclbpf.core".decode(io.read "a")
assert(d.schema == "ncclbpf.list/1")
for _, p in ipairs(d.data.processes) do
	if p.job == "demo" and p.state == "attachable" and p.pid > 0 and p.job_rank
			and p.socket:match("/demo%.%d%.%d+%.%d+%.sock$") then
		n = n + 1
	end
end
assert(n == 8, n)' <"$T/out" 2>"$T/why"
ok "list in JSON has each process" $?
golden attach -o table attach demo
shape attach_json -o json attach demo
golden attach_wrong attach dema
fails 69 no_target "not attached" detach
golden status -o table status
shape status_json -o json status
status 0 "doctor" -o table doctor
has "says what is wrong, then how many checks are ok" out "checks ok on 8 processes"
grep -q '^[a-z_]*  *ok ' "$T/out"
[ $? -ne 0 ]
ok "and lists no check that is ok" $?
status 0 "doctor -v" -o table -v doctor
has "has a line for each check" out "CHECK " "LEVEL" "tuner " "segment "
shape doctor_json -o json doctor
golden policy_list_empty -o table policy list
golden load -o table policy load force.bpf.o
shape load_json -o json policy load size_aware.bpf.o
fails 2 verify_rejected "a refused policy" policy load refused.bpf.o
shape load_refused_json -o json policy load refused.bpf.o
golden load_dry -o table -n policy load noop.bpf.o
fails 1 not_found "use of a policy that is not there" policy use nosuch
fails 1 not_found "a program's name" policy use force_choice
golden use_dry -o table -n policy use force size_aware
golden use -o table policy use force size_aware
shape use_json -o json policy use force size_aware
await settled demo
golden policy_list -o table policy list
shape policy_list_json -o json policy list
golden remove -o table policy remove force
golden add_dry -o table -n policy add force position=first
golden add -o table policy add force before=size_aware
fails 64 bad_argument "a move to no place" policy move force
golden move -o table policy move force position=first
golden policy_time -o table policy time on
sampled() {
	run -o json policy show force
	grep -q '"samples":' "$T/out" && ! grep -q '"samples":0' "$T/out"
}
await sampled
status 0 "policy show" -o table policy show force
has "has engine, counters, mean time and maps" out "machine code" "overrides " "refused " \
	"mean ns " "maps: force"
shape policy_show_json -o json policy show force
status 0 "policy time off" -o table policy time off
golden map_list -o table map list
golden map_list_wide -o wide map list
shape map_list_json -o json map list
golden map_list_name -o name map list
golden map_show -o table map show force
shape map_show_json -o json map show force
golden map_dump -o table map dump force
shape map_dump_json -o json map dump force
golden map_dump_tsv -r 0 -o tsv map dump force
golden map_dump_csv -r 0 -o csv map dump force
golden map_get -o table map get force 0
fails 1 no_such_key "an element that is not there" map get force 7
golden map_set -o table map set force 0 '{algo=ring, proto=simple, channels=4, enabled=1}'
run -o name -q map dump force
run -r 0 -q -o tsv map get force 0
has "the typed value arrived" out "{algo=ring, proto=simple, channels=4, enabled=1}"
shape map_set_json -o json map set force 0 '{algo=tree, enabled=0}'
fails 64 bad_argument "a field that is not there" map set force 0 '{algoo=1}'
fails 64 bad_argument "a value out of range" map set force 0 '{channels=-1}'
fails 64 bad_argument "a word that is none" map set force 0 '{algo=rung}'
fails 64 bad_argument "bytes of another size" map set force 0 hex:0011
fails 64 bad_argument "half a value" map set force 0 '{algo='
fails 64 usage "a key without a value" map set force 0
run -r 0 -o json explain allreduce 4M
own=$(sed 's/.*"nccl":{"algo":"\([a-z0-9_]*\)","proto":"\([a-z0-9]*\)".*/algo=\1, proto=\2/' \
	"$T/out")
status 0 "force what NCCL would take" map set force 0 "{$own, enabled=1}"
kept() { run -r 0 -o table explain allreduce 4M && grep -q "kept NCCL's choice" "$T/out"; }
await kept
ok "explain says that NCCL's choice is kept" $?
status 0 "undo" policy undo
golden map_set_dry -o table -n map set force 0 '{algo=ring}'
fails 1 not_found "a map that is not there" map dump nosuch
golden map_dump_follow -o table map dump force follow=yes every=100ms count=2
golden comm_list -o table comm list
shape comm_list_json -o json comm list
status 0 "comm show" -o table comm show
has "has sizes, choices, costs and who decided" out "8 ranks on 1 node," "SIZE" "NCCL" "ANSWER" \
	"COST us" "SLOWER %" "allreduce" "size_aware"
status 0 "comm show, wide" -o wide comm show
awk 'NR > 2 && NF == 11 && $10 ~ /^[+-][0-9]/ { rows++; if (($8 > $9) != ($10 > 0)) wrong++ }
	END { exit !rows || wrong }' "$T/out"
ok "SLOWER % is positive where the answer costs more time than NCCL's choice" $?
shape comm_show_json -o json comm show
fails 1 not_found "a communicator that is not there" comm show abcd
status 0 "explain" -o table explain allreduce 4M
has "goes step by step" out "allreduce of 4M" "STEP" "NCCL's own choice" "force" "size_aware" "by "
shape explain_json -o json explain allreduce 4M
status 0 "a function of nb attaches as its command does" \
	-e 'assert(#nb.decision_tail().decisions > 0)'
fails 64 bad_argument "no collective" explain allreduc 4M
fails 64 bad_argument "no size" explain allreduce 4X
status 0 "explain takes sizes with units" -o json explain AllReduce 4MiB
has "4MiB is 4194304 bytes" out '"bytes":4194304'
shape decision_json -o json -r 0 decision tail count=1
status 0 "decision tail in a table" -o table decision tail count=5
[ "$(wc -l <"$T/out")" -eq 6 ]
ok "five decisions and a header" $?
status 0 "decision tail that goes on" -o ndjson -r 0 decision tail follow=yes count=4
[ "$(wc -l <"$T/out")" -eq 4 ]
ok "four lines" $?
fails 64 usage "no number" decision tail count=none
golden trace -o table trace tail
shape trace_json -o json trace tail
status 0 "policy dump of a name" -o table policy dump force
has "has instructions and source" out "section tuner" "map[force]" "force.bpf.c:" "exit"
status 0 "policy diff of two names" -o table policy diff force size_aware
has "has lines that went and came" out "- force " "+ size_aware " "-map force: array"
status 0 "policy export" policy export force out=got.policy
"$S" policy build force.bpf.o out=force.policy >/dev/null 2>&1 && cmp got.policy force.policy &&
	timeout 300 "$S" policy diff got.policy force >/dev/null
ok "gives the image that was loaded" $?
golden undo -o table policy undo
shape change_status_json -o json change status
status 2 "use of a file that is refused" policy use ./refused.bpf.o
status 2 "as in a dry run" -n policy use ./refused.bpf.o
status 0 "a dry run of a file" -n policy use ./noop.bpf.o
status 1 "holds nothing afterwards" policy show noop
status 0 "a file is loaded, then used" -o table policy use ./noop.bpf.o force
has "by its name" out "policy use noop force: committed"
await settled demo
status 0 "and added" policy add ./size_aware.bpf.o
await settled demo
golden use_none -o table -y policy use none
await settled demo
for c in "env set NCCL_ALGO Ring" "env remove NCCL_ALGO" "controller pause" "telemetry on" \
		"trace start out=x.json" "policy time on" "rollout abort"; do
	# shellcheck disable=SC2086
	fails 64 usage "no dry run of $c" -n $c
done
[ ! -e x.json ] && run -o json env list && ! grep -q NCCL_ALGO "$T/out"
ok "and nothing is done" $?
status 77 "the role stays what it is" --role=observe telemetry on
status 77 "for maps too" --role=observe map set force 0 '{enabled=0}'
status 0 "what would be done needs no more than observe" --role=observe -n policy load force.bpf.o
golden unload_dry -o table -n policy unload force
golden unload -o table policy unload force
fails 1 not_found "unload of what is gone" policy unload force
status 0 "watch repeats" -o tsv -q watch 100ms count=3 comm list
[ "$(grep -c '  comm list$' "$T/out")" -le 3 ] &&
	[ "$(grep -c "$(timeout 300 "$S" -o name comm list)" "$T/out")" -eq 24 ]
ok "three rounds of eight lines" $?
printf 'timing on\ncomm list\n' | timeout 300 "$S" >"$T/out" 2>"$T/err"
has "timing says time and round trips" err "time " "round trips"
fails 69 no_target "no such rank" -r 9 status
fails 64 bad_argument "a selector that is none" comm show others
run -o json decision tail comm=ranks:8 count=3
[ "$rc" -eq 0 ] && grep -q '"comm":"ab00000000000000"' out
ok "decision tail takes a selector" $?
fails 69 no_target "a process without NCCL" -p 1 status

# elements of every kind of type, over the wire and back
status 0 "load a policy with many types" policy load types.bpf.o
status 0 "use it" policy use types
fields='u64=18446744073709551615, s32=-5, text=abc, mode=mode_on, algo=nvls, three=7, five=-16'
fields="{$fields, pair={{low=-1}}, number={whole=258}, hidden=9, flag=true}"
status 0 "store a structure" map set everything '{low=-1,high=2}' "$fields"
run -q -r 0 -o tsv map dump everything
has "and read it" out "{low=-1, high=2}" "u64=18446744073709551615" "s32=-5" "text=abc" \
	"mode=MODE_ON" "algo=nvls" "three=7, five=-16" "hidden=9, flag=true"
run -r 0 -o json map get everything '{low=-1,high=2}'
has "64 bits are exact in JSON" out '"u64":18446744073709551615'
status 1 "flags=new on an element that is there" map set everything '{low=-1,high=2}' '{}' flags=new
status 0 "remove it" map remove everything '{low=-1,high=2}'
status 1 "it is gone" map get everything '{low=-1,high=2}'
await settled demo
status 0 "a per-CPU map" -o table map dump counts
has "has a column of CPUs, and says which are all zero" out "KEY  CPU  VALUE" \
	"types/counts: percpu_array, __u32 -> __u64" " all "
shape percpu_json -o json map dump counts
status 0 "plain integers as keys" map set plain 77 5
run -q -r 3 -o tsv map get plain 77
has "and values" out "77	5"

# ---- a communicator that NCCL does not name ----
job unnamed --ranks 1 --abi 4
status 0 "comm list of a tuner of v4" -J unnamed -o table comm list
has "shows the communicator" out 0000000000000000
status 0 "comm show" -J unnamed -o table comm show
has "too" out "comm 0000000000000000: 1 rank"
messages
