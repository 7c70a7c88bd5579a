#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# One job on two sites with a real etcd: images in pieces, an agent that runs as
# a service, what a job of this name starts with (job set), the fleet's numbers
# in if_generation=, and what the coordinator deletes.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "the start of a fleet's job"
enter_store
store_of start
for name in start solo; do
	NCCLBPF_FLEET=$fleet serve $name a b
done

# start NAME [VARIABLE=VALUE...]: the job on two sites
start() {
	name=$1
	shift
	env NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=start NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_SOCKET_DIR="$T/a" "$@" timeout 0 \
		"$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs --min 4M --max 32M \
		--seconds inf --pause-ms 5 --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" \
		--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >"$name.log" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
sites() { [ "$(ctl get --prefix --keys-only $keys/site/ | grep -c site)" -eq "$1" ]; }
ended() { kill "$job"; wait "$job" && await sites 0; }
stop() { kill "$job"; wait "$job" 2>/dev/null; await sites 0; }
# ask ID LINE IMAGES [MORE]: a request, as the shell makes one; $asked is its ID
ask() {
	asked=$1
	while :; do
		ctl put "$keys/request/$asked" "{\"line\":\"$2\",\"images\":[$3]${4:-}}" >/dev/null
		await answered "$asked" || return
		is_late reply && [ ${#asked} -lt 60 ] || break
		asked=$asked.again
	done
}
image() {
	printf '{"name":"%s","digest":"%s"}' "$1" \
		"$(sha256sum <"$B/policies/$1.policy" | cut -c1-64)"
}

# ---- images in pieces ----
P=$B/policies/size_aware.policy
D=$(sha256sum <"$P" | cut -c1-64)
start pieces
await registered
need "two sites run the job" $?
ask none "policy use size_aware" "$(image size_aware)"
grep -q '"ok":false' reply && grep -q "the store has no image" reply
ok "an image that is missing is named" $?
head -c 1000 "$P" | ctl put "$data/image/$D" >/dev/null
tail -c +1001 "$P" | head -c 500 | ctl put "$data/image/$D/2" >/dev/null
ask short "policy use size_aware" "$(image size_aware)"
grep -q '"ok":false' reply && grep -q "2 pieces have another digest" reply
ok "an image without its last piece is refused" $?
tail -c +1501 "$P" | ctl put "$data/image/$D/3" >/dev/null
ask whole "policy use size_aware" "$(image size_aware)"
grep -q '"ok":true' reply
ok "an image of three pieces is joined and used" $?
ended
ok "no two ranks have decided differently" $?

# ---- a job whose processes serve no control socket ----
start silent NCCLBPF_CONTROL=off
await registered
need "agents serve a job without control sockets" $?
ended
ok "to its end" $?

# ---- job set: what a job of this name starts with ----
F=$B/policies/force.policy
uses() { # POLICY SITE: do all ranks of the site decide with it alone
	NCCLBPF_SOCKET_DIR=$T/$2 run -o tsv -J start comm list
	awk -F '\t' -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += ($h["policies"] != want) } END { exit bad || n != 2 }' out
}
both() { uses "$1" a && uses "$1" b; }
start runs
since() {
	[ "$(ctl get --prefix --print-value-only $keys/site/ | grep -c '"since":[1-9]')" -eq 2 ]
}
await since && await registered
status 0 "job set while a job of this name runs" --fleet "$fleet" job set start "$P"
sleep 2
both '[]'
ok "it keeps its policies" $?
stop
status 0 "job set" --fleet "$fleet" job set start "$P"
start set
await both size_aware
ok "the job starts with what was set" $?
status 0 "job set for the next run" --fleet "$fleet" job set start "$F"
kill "$job"
wait "$job" 2>/dev/null
start soon
await both force
ok "which starts before the agents have seen the end of this one" $?
stop
cp "$B/examples/parameters/limits.bpf.o" .
status 0 "job set with a value of a parameter" --fleet "$fleet" job set start \
	'limits.bpf.o?small=64K'
start param
await both limits
ok "the job starts with the policy" $?
run --fleet "$fleet" -o json -J start policy show limits
has "and with the value" out '"name":"small","value":65536'
stop
# A job of one site restarts while its agent still lives
solo() { # starts it, with two ranks
	NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=solo NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_SOCKET_DIR="$T/a" "$B/test/fakes/host/standin" --ranks 2 --procs \
		--min 4M --max 32M --seconds inf --pause-ms 5 >solo.log 2>&1 &
	solo=$!
	jobs="$jobs $solo"
}
solo_uses() {
	NCCLBPF_SOCKET_DIR=$T/a run -o tsv -J solo comm list
	grep -q "$1" out
}
solo_known() {
	ctl get --prefix --print-value-only /ncclbpf/1/solo/site/ | grep -q '"since":[1-9]'
}
solo
await solo_known
status 0 "a job of one site changes" --fleet "$fleet" -J solo policy use "$P"
await solo_uses size_aware
run --fleet "$fleet" job set solo "$F"
kill "$solo"
wait "$solo" 2>/dev/null
solo
await solo_uses force
ok "and begins with what was set, although its agent still lived" $?
kill "$solo"
wait "$solo" 2>/dev/null
solo_gone() { ! ctl get --prefix --keys-only /ncclbpf/1/solo/site/ | grep -q site; }
await solo_gone
run --fleet "$fleet" job set start "$P"
start set
await both size_aware
run --fleet "$fleet" -o tsv audit
grep "policy use size_aware" out | grep "committed as generation" | grep -q "the job starts with it"
ok "audit names the change" $?
n=$(ctl get --print-value-only $keys/desired/applied | sed -n 's/.*"n":\([0-9]*\).*/\1/p')
run --fleet "$fleet" -J start -o wide policy history
[ "$rc" -eq 0 ] && ! grep -q "note: by" out
ok "policy history compares no PIDs of agents" $?
run --fleet "$fleet" -J start policy use cheap_ring
has "a policy that no process holds: the hint names its file" err "policy use FILE"
ends 66 no_input "job set with the name of a policy" --fleet "$fleet" job set later cheap_ring

# The fleet's numbers
ask stale "policy use none" "" ',"expected":1'
grep -q '"error":"stale"' reply && grep -q "has generation $n" reply
ok "another generation than if_generation says is refused" $?
[ "$n" ] && [ "$(commit_n)" = "$n" ]
ok "the job was changed once" $?
run --fleet "$fleet" -o tsv list
grep "^start	" out | grep -q "	$n	"
ok "list shows the fleet's generation" $?
status 0 "if_generation with it is done" --fleet "$fleet" \
	-J start policy use "$F" if_generation="$n" start=yes
m=$(commit_n)
[ "$m" -gt "$n" ] && grep -q "	$m	" out
ok "and counted on" $?
await both force
ok "on both sites" $?
status 0 "a map changes on both sites" --fleet "$fleet" \
	-J start map set force 0 '{algo=ring, channels=7, enabled=1}'
run --fleet "$fleet" -o tsv audit count=1
has "audit shows its element as a user types it" out "	map set force 0 {" "channels=7" \
	"	committed as generation"
# A shell that dies after its request: the coordinator writes the outcome
entry='"time":"2026-01-01T00:00:00.000Z","who":"u","from":"h 1","images":[]'
for id in done none; do
	line="policy use ${id#done}" && [ $id = done ] && line="policy use none"
	ctl put "$data/audit/t-$id" "{$entry,\"line\":\"$line\",\"request\":\"$id\"}" >/dev/null
done
run --fleet "$fleet" -J start -o tsv audit
[ "$(grep "	h 1	" out | grep -c "not carried out")" -eq 2 ]
ok "audit says which changes were not carried out" $?
ask done "policy use none" "" \
	',"audit":"t-done","who":"u","from":"h 1","time":"2026-01-01T00:00:00.000Z"'
ctl del "$data/reply/$asked" >/dev/null
run --fleet "$fleet" -J start -o tsv audit
grep "	h 1	policy use none	" out | grep -q "committed as generation $(commit_n)"
ok "the coordinator writes the outcome of a change whose shell has died" $?
ask wrong "policy use gone" "" ',"audit":"t-none","who":"u","from":"h 1"'
run --fleet "$fleet" -J start -o tsv audit
grep "	policy use gone	" out | grep -q "refused: site "
ok "and of one that is refused" $?
ask bad "policy use none" "" ',"audit":"../order/commit"'
[ "$(ctl get --prefix --keys-only "$data/audit/../" | grep -c .)" -eq 0 ]
ok "no other key is written as an audit entry" $?
run --fleet "$fleet" -J start policy use "$F" start=yes
status 0 "start=yes sets it" --fleet "$fleet" -o tsv job show start
has "the job starts with the policy that was kept" out "1	force"
status 64 "start=yes and comm= exclude each other" --fleet "$fleet" \
	-J start policy use size_aware comm=others start=yes
ask kept "policy use size_aware" "$(image size_aware)" ',"keep":{"line":"policy use force"}'
grep -q '"ok":false' reply && grep -q '"error":"bad_argument"' reply
ok "a request that keeps something else is refused" $?
stop
ok "the sites' keys leave the store when the job ends" $?

start again
await both force
ok "the job comes up with it when it is restarted" $?
status 0 "an operator changes it" --fleet "$fleet" -J start policy use none
await both '[]'
ask stays "policy use none" "" ',"expected":1'
both '[]'
ok "and it stays changed" $?
stop
ok "the sites' keys leave the store when the job ends" $?

status 0 "job clear" --fleet "$fleet" job clear start
start clear
await registered
ask begins "policy use none" "" ',"expected":99'
both '[]'
ok "a job starts with NCCL's own choice when it is cleared" $?
run --fleet "$fleet" -J start -o tsv audit
grep "	job set start $P	" out | grep -q "	stored" &&
	grep "	job clear start	" out | grep -q "	cleared"
ok "audit lists what was set and cleared" $?
stop
ctl put "$keys/desired" \
	'{"line":"policy use gone","images":[{"name":"gone","digest":"ab"}]}' >/dev/null
start gone
noted() { run --fleet "$fleet" -o table job show start && grep -q "no image ab" out err; }
await noted
ok "job show says why a job has not started with what is set" $?
stop
ok "the sites' keys leave the store when the job ends" $?
status 0 "audit of a job that has ended" --fleet "$fleet" -J start -o tsv audit
has "lists its changes" out "job clear start"
ends 69 no_target "audit of a misspelt name" --fleet "$fleet" -J strat audit

# ---- a service: an agent that waits for the job ----
mkdir -m 700 c
NCCLBPF_JOB=service NCCLBPF_SOCKET_DIR=$T/c NCCL_TUNER_PLUGIN=$B/libncclbpf.so timeout 0 \
	"$B/test/fakes/host/standin" --ranks 1 --seconds inf --pause-ms 5 >dead.log 2>&1 &
dead=$!
await test -e c/service.seg
ranks=$(pgrep -P $dead)
kill -KILL $ranks $dead
wait $dead 2>/dev/null
await all_ended $ranks
before=$(stat -c %i c/service.seg)
waits="ncclbpf-agent: waits for job service in $T/c"
NCCLBPF_FLEET=$fleet timeout 0 "$B/ncclbpf-agent" --job service --dir "$T/c" >service.log 2>&1 &
jobs="$jobs $!"
await grep -qxF "$waits" service.log
{
	ls -i c
	cat service.log
} >"$T/why"
[ "$(stat -c %i c/service.seg)" = "$before" ] && [ "$(cat service.log)" = "$waits" ]
ok "a service leaves the segment of a dead job alone" $?
NCCLBPF_FLEET=$fleet NCCLBPF_JOB=service NCCLBPF_SOCKET_DIR=$T/c \
	NCCL_TUNER_PLUGIN=$B/libncclbpf.so \
	timeout 0 "$B/test/fakes/host/standin" --ranks 1 --seconds inf --pause-ms 5 \
		>alive.log 2>&1 &
job=$!
jobs="$jobs $job"
there() { ctl get --prefix --keys-only /ncclbpf/1/service/site/ | grep -q site; }
await there
ok "and joins the next one" $?
kill "$job"
gone() { ! there; }
await gone
ok "until that ends" $?
