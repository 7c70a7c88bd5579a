#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# Rollouts on a job of the stand-in that replays times: promoted, rolled back
# by a guard, paused, asked from another shell, taken over from a dead one.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "rollout" "the mock NCCL (standin) was not built"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] || skip_all "rollout" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
R=$TOP/examples/rollout
{
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' "$TOP/test/fakes/vgpu/b300.csv"
	grep -v '^#' "$TOP/test/fakes/vgpu/b300.csv"
} | awk '
	/^collective/ && !n++ { head = $0 }
	!/^collective/ { body = body $0 "\n" }
	END { print head; printf "%s", body }
' >times.csv

NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=one \
	timeout 0 "$B/test/fakes/host/standin" --ranks 4 --procs --events --seconds inf \
	--pause-ms 1 --min 1M --max 64M --factor 8 --table times.csv >one.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach one >/dev/null 2>&1
need "a job" $?
export NCCLBPF_JOB=one
using() { # NAME: the policies in use are these
	run -o json status
	grep -q "\"policies\":\[$1\]" out
}

# ---- plans that are none ----
bad() { # FIELDS
	echo "return { $1 }" >bad.lua
	fails 64 bad_argument "refused: $1" rollout plan bad.lua
}
bad 'name = "x"'
bad 'candidate = "none", blcks = 3'
bad 'candidate = "none", blocks = 0/0'
bad 'candidate = "none", blocks = 3, judge = { looks = 1 }'
bad 'candidate = "none", judge = { confidence = 2 }'
bad 'candidate = "none", judge = 7'
bad 'candidate = "none", scope = { sizes = "9M..1M" }'
bad 'candidate = "none", scope = { collectives = { "allredcue" } }'
bad 'candidate = { 1 }'
echo "return { candidate = { '$B/policies/force.policy' } }" >one.lua
status 0 "a list of one file is that file" rollout plan one.lua
has "it is shown as the candidate" out "candidate" "$B/policies/force.policy"
bad 'candidate = os.exit()'
bad 'candidate = "none", scope = { comms = {} }'
bad 'candidate = "none", scope = { comms = { "no-hex" } }'
bad 'candidate = "none", scope = { comms = 17 }'
bad 'candidate = "none", scope = { comms = "120%" }'
bad 'candidate = "none", promote = "some"'
bad 'candidate = "none", guards = { slo = "soon" }'
echo 'return { candidate = "none" } }' >bad.lua
status 65 "not Lua" rollout plan bad.lua
echo '{ "candidate": "none", "on_pass": "cry" }' >bad.json
fails 64 bad_argument "a word that is none, in JSON" rollout plan bad.json
echo 'while true do end' >bad.lua
fails 64 bad_argument "a plan that never ends" -e \
	'require("ncclbpf.base.clock").times.callback = 0.1' rollout plan bad.lua
bad 'candidate = "none", steps = { units = 1 }'
bad 'candidate = "none", steps = { { units = 2 }, { units = 1 } }'
echo 'return { candidate = "nothere.policy" }' >bad.lua
fails 66 no_input "a candidate that is not there" rollout plan bad.lua
echo "return { candidate = '$B/policies/force.policy', promote = 'better' }" >bad.lua
fails 2 refused "a candidate with maps for some sizes only" rollout plan bad.lua
status 0 "a good plan" rollout plan "$R/ring_mid.lua"
has "says what it would do" out "4M to 128M" "10 pairs" "at least 460 collectives"

# ---- nothing there ----
fails 1 not_found "no rollout yet" rollout status
status 1 "a candidate that nobody holds" rollout start "$R/ring_mid.lua"
using ""
ok "has changed nothing" $?

echo 'return { candidate = "none", scope = { comms = { "beef" } } }' >none.lua
fails 1 not_found "communicators that the job has not" rollout start none.lua
echo 'return { candidate = "none", scope = { comms = 5 } }' >many.lua
fails 2 refused "more than there are" rollout start many.lua
using ""
ok "nothing has changed" $?

# ---- promoted ----
run policy load "$B/policies/nvlink_ring_mid.policy"
run policy load "$B/examples/rollout/one_channel.bpf.o"
run -o table rollout start "$R/ring_mid.lua"
[ "$rc" -eq 0 ]
ok "a better policy" $?
has "is promoted" out "ring-mid: succeeded" "allreduce 64M" "pass"
using '"nvlink_ring_mid"'
ok "and in use" $?
status 0 "the job's history" -o json policy history
id=$(sed -n 's/.*"rollout":"\(ring-mid-[^"]*\)".*/\1/p' out)
[ "$id" ] && grep -q "$id" "$XDG_STATE_HOME"/ncclbpf/rollouts/*.json
ok "names the rollout that made the generations" $?
status 0 "history" -o json rollout history
for s in preparing progressing promoting succeeded; do
	grep -q "\"to\":\"$s\"" out
	ok "tells when it was $s" $?
done
run check agreement
ok "ranks agree" "$rc"
status 0 "a report" rollout report out=r.html label="<replayed>"
lua_run -e 'local core = require "ncclbpf.core"
	local text = assert(core.read "r.html")
	local d = assert(
		core.decode((text:match "<script type=\"application/json\" id=data>(.-)</script>")))
	assert(text:find("<p class=note>&lt;replayed&gt;</p>", 1, true))
	local kinds, dots = 0, 0
	for kind, s in pairs(d.verdict.strata) do
		kinds = kinds + 1
		for _, cells in ipairs { ("<td>%s</td><td class=%s>%s</td>"):format(
				(kind:gsub(" of .*$", "")), s.verdict, s.verdict),
			(("<td class=n>%+.1f %%</td>"):rep(3) .. "<td class=n>%d</td>"):format(
				s.effect_pct, s.low_pct, s.high_pct, s.blocks_a) } do
			assert(text:find(cells, 1, true), cells)
		end
		for i, b in ipairs(d.blocks) do
			local dot = ("<title>block %d, %s, generation %d: %.1f us</title>")
				:format(i, b.arm == "a" and "baseline" or "candidate", b.generation,
				b.medians[kind] / 1000)
			assert(text:find(dot, 1, true), dot)
			dots = dots + 1
		end
	end
	assert(kinds == 2 and dots == 40)
	-- what counted is kept: 20 of the most frequent kind in each block, with who ran what
	assert(d.seen.of == "collectives" and d.seen.samples >= 20 * 20 and #d.where.hosts == 1
		and d.where.comms[1].ranks == 4)
	local lines = 0
	for _ in io.lines "r.csv" do lines = lines + 1 end
	assert(lines == d.seen.samples + 1, lines)
	for kind, k in pairs(d.seen.kinds) do
		assert(#k.ranks_a == 4 and #k.ranks_b == 4, kind)
		for ran, n in pairs(k.ran) do
			for _, m in pairs(n) do
				assert(m == 0 or text:find(("%s %d"):format(ran, m), 1, true), ran)
			end
		end
	end
	for _, e in ipairs(d.events) do assert(text:find(e.time, 1, true)) end
	assert(not text:find("https?://"), "needs something else")' 2>>why
ok "whose numbers are those of its data" $?
status 0 "the verdict as a table" -o wide rollout status
[ "$(grep -oE "[A-Z]+ %" out | sort -u)" = "SLOWER %" ] &&
	grep -qE '^allreduce 8M .*pass +-[0-9]' out
ok "compares times alone: below 0 is faster" $?
fails 73 cannot_create "a report that cannot be written" rollout report out=/nowhere/r.html
status 0 "what it saw can be judged again" -o table rollout start "$R/ring_mid.lua" \
	data="$XDG_STATE_HOME/ncclbpf/rollouts/one@$(uname -n).json"
has "is called a replay" out "replayed from" "pass" "then: promote"
sed -e 's/blocks = 10/blocks = 40/' "$R/ring_mid.lua" >longer.lua
run -o table rollout start longer.lua data="$XDG_STATE_HOME/ncclbpf/rollouts/one@$(uname -n).json"
has "a longer plan has not seen enough of it" out "inconclusive"
status 0 "somebody else takes it away" policy use none
ends 2 refused "what was put in its place is not undone" rollout undo
status 0 "and puts it back" policy undo
status 0 "undo" rollout undo
using ""
ok "is the baseline again" $?
status 2 "once" rollout undo

# ---- rolled back ----
status 2 "a bad policy" rollout start "$R/one_channel.lua"
has "is stopped by its guard" err "rolled_back" "slower by"
using ""
ok "and is not in use" $?
run -o json rollout status
lua_run -e 'local d = require "ncclbpf.core".decode(io.read "a").data
	assert(d.state == "rolled_back" and d.blocks == 1)
	local n = tonumber(d.reason:match "after (%d+) collectives") assert(n >= 10 and n < 1000)
' <out 2>>why
ok "within so many collectives" $?

# ---- promoted where it is better, alone ----
cat >mixed.csv <<C
allreduce,8388608,16777215,ring,ll128,-1,-1,-1
allreduce,67108864,134217727,ring,ll,-1,-1,-1
C
cat >mixed.lua <<P
return { name = "mixed", candidate = "mixed.csv", promote = "better",
	scope = { collectives = { "allreduce" } }, blocks = 8, samples = 10, judge = { looks = 1 },
	guards = { slower_pct = 10000 } }
P
status 0 "a plan that promotes what is better" rollout plan mixed.lua
has "says so" out "by more than 1 %; then: promote, for such kinds alone" \
	"when no kind of collective is faster"
run -o table rollout start mixed.lua
[ "$rc" -eq 0 ]
ok "better in one size, worse in another, the same in the third" $?
kinds="better in 1 of 3 kinds of collectives, worse in 1, the same in 1, open in 0"
has "is promoted for the one" out "$kinds; promoted for allreduce 8M, held back elsewhere"
grep -Eq '^allreduce 8M .* better +-[0-9.]+ .* promoted' out &&
	grep -Eq '^allreduce 64M .* worse +\+[0-9.]+ .* held back' out &&
	grep -Eq '^allreduce 1M .* same .* held back' out
ok "and each kind says what came of it" $?
using '"mixed.8M"'
ok "what is in use names its size" $?
await settled one
for size in 1M 64M; do
	run explain allreduce $size
	cp out why
	! grep -q mixed out
	ok "$size is NCCL's own" $?
done
decided() { # SIZE TEXT
	run explain allreduce "$1"
	cp out why
	grep -q "$2" out
}
await decided 8M mixed.8M
ok "8M is the candidate's" $?
run check agreement
ok "all ranks alike" "$rc"
status 0 "its report" rollout report out=better.html
cp better.html why
grep -q '<td class=pass>better, promoted</td>' better.html &&
	grep -q '<td class=fail>worse, held back</td>' better.html &&
	grep -q 'mixed.8M: allreduce 8M; elsewhere the previous policies' better.html
ok "says what was promoted and what held back" $?
cp mixed.csv kept.csv
fails 1 exists "a report beside a table of the same name" rollout report out=mixed.html
cmp -s mixed.csv kept.csv && [ ! -e mixed.html ]
ok "and the table is left alone" $?
grep -q 'Times are not measured: replayed from times.csv (stand-in for NCCL)' better.html
ok "and that times are replayed" $?
status 0 "undone" rollout undo
using ""
ok "as a whole" $?
sed -e 's/allreduce,8388608.*//' mixed.csv >worse.csv
sed -e 's/mixed.csv/worse.csv/' mixed.lua >worse.lua
status 2 "better nowhere" rollout start worse.lua
has "is rolled back" err "rolled_back: fail at look 1: better in 0 of 3 kinds"
run policy load "$B/policies/force.policy"
sed -e 's/candidate = "mixed.csv"/candidate = { "force" }/' mixed.lua >map.lua
fails 2 refused "a candidate with maps" rollout start map.lua
fails 2 refused "and in a dry run" -n rollout start map.lua

# ---- paused, taken over ----
sed -e 's/blocks = 10/blocks = 200/' "$R/ring_mid.lua" >long.lua
runner() { # the PID of the process that runs it
	run -o json rollout status
	lua_run -e 'print(require "ncclbpf.core".decode(io.read "a").data.pid)' <out
}
lives() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }
dead() { ! lives "$1"; }
id() { sed -n 's/^{.*"id":"\([^"]*\)".*/\1/p' out; }
# begin PLAN: a rollout in the background, in place of the rollout $before
begin() {
	run -o json rollout status
	before=$(id)
	"$S" rollout start "$1" >"${1%.lua}.out" 2>&1 &
	shell=$!
}
seen() { # N STATE: N blocks or more in this state; never if the rollout has ended in another
	run -o json rollout status
	[ "$(id)" != "$before" ] || return 1
	if grep -q "\"state\":\"$2\"" out; then
		lua_run -e '
			assert(require "ncclbpf.core".decode(io.read "a").data.blocks >= '"$1"')
		' <out 2>/dev/null
	else
		! grep -qE '"state":"(rolled_back|failed|succeeded)"' out || return $NEVER
		return 1
	fi
}
begin long.lua
await seen 2 progressing
ok "a long one goes on" $?
runner=$(runner)
[ "$runner" != $shell ] && lives "$runner"
ok "in a process of its own" $?
fails 75 busy "no second one beside it" rollout start "$R/ring_mid.lua"
status 0 "pause, from another shell" -o table rollout pause
has "is asked for" out "process $runner was asked to pause the rollout"
wait $shell
[ $? -eq 3 ]
ok "the shell that started it says that it paused" $?
run -o json rollout status
grep -q '"state":"paused"' out
ok "paused" $?
using ""
ok "with the baseline" $?
"$S" rollout resume >long.out 2>&1 &
shell=$!
await seen 4 progressing
ok "resumed" $?
# The shell is the runner until its new process is.
apart() {
	first=$(runner)
	[ "$first" ] && [ "$first" != $shell ]
}
await apart
# Nobody can take over from a process that is stopped while it changes the record.
lock=$XDG_STATE_HOME/ncclbpf/rollouts/one@$(uname -n).json.lock
stop_outside() {
	halt "$first"
	await grep -q '^State:[[:space:]]*T' "/proc/$first/status"
	flock -n "$lock" true && return
	kill -CONT "$first"
	return 1
}
await stop_outside
stands() {
	run -o table rollout status
	grep -q "the runner, process $first, is stopped" out
}
await stands
ok "a runner that is stopped is told" $?
run -o json rollout status
had=$(lua_run -e 'print(require "ncclbpf.core".decode(io.read "a").data.blocks)' <out)
status 0 "another one takes over from it" -o table rollout resume follow=no
has "and this shell does not wait for it" out "rollout status follow=yes follows it"
await seen $((had + 1)) progressing
ok "and goes on" $?
runner=$(runner)
kill -CONT "$first"
await dead "$first"
ok "the first ends when it goes on" $?
[ "$(runner)" = "$runner" ] && lives "$runner"
ok "and leaves the other one alone" $?
kill -9 "$runner"
await seen 0 paused
ok "a runner that is killed has a supervisor, which pauses" $?
wait $shell
[ $? -eq 3 ]
ok "the shell that still follows the rollout ends" $?
run -o table rollout status
has "and says why" out "the rollout's runner died; its supervisor restored the baseline"
using ""
ok "no rank has the candidate" $?
run -o json rollout status
had=$(lua_run -e 'print(require "ncclbpf.core".decode(io.read "a").data.blocks)' <out)
"$S" rollout resume >long.out 2>&1 &
shell=$!
await seen $((had + 1)) progressing
ok "another one takes over, with the blocks there were" $?
kill -INT $shell
wait $shell
[ $? -eq 130 ]
ok "Ctrl-C" $?
run -o json rollout status
grep -q '"state":"paused"' out
ok "pauses" $?
using ""
ok "and leaves the baseline" $?
status 0 "promote without a verdict" rollout promote
using '"nvlink_ring_mid"'
ok "is a decision of one's own" $?
run -o json rollout history
grep -q 'asked to promote' out
ok "which is written down" $?
status 2 "what has ended does not go on" rollout resume

# ---- the shell that started it is killed ----
sed -e 's/samples = [0-9]*/samples = 20/' "$R/ring_mid.lua" >orphan.lua
begin orphan.lua
await seen 1 progressing
kill -9 $shell
wait $shell 2>/dev/null
run -o table rollout status follow=yes
[ "$rc" -eq 0 ]
ok "the rollout goes on, and another shell follows it" $?
has "to its verdict" out "ring-mid: succeeded" "pass"
using '"nvlink_ring_mid"'
ok "and to the promotion" $?
! ls "$XDG_STATE_HOME"/ncclbpf/rollouts/*.log >why 2>&1
ok "its runner had nothing to say" $?
run rollout undo
sed -e 's/slower_pct = [0-9]*/slower_pct = 100/' "$R/one_channel.lua" >slow.lua
run -o json rollout status
before=$(id)
status 0 "one that nobody follows" rollout start slow.lua follow=no
await seen 0 rolled_back
ok "is guarded all the same" $?
using ""
ok "and rolled back" $?

# ---- the examples of hooks and of a script ----
status 0 "a plan with hooks" rollout start "$R/every_size.lua"
has "decides by its own judge" err "every_size.lua: tries it on c0ffee0000000000 with 4 ranks" \
	"every_size.lua: succeeded after"
using '"nvlink_ring_mid"'
ok "and promotes it" $?
run rollout undo
status 0 "a script tries one policy after the other" -f "$R/first.lua" one_channel nvlink_ring_mid
has "until one is better" out "one_channel: rolled_back after 1 blocks: " \
	"nvlink_ring_mid: succeeded after"
using '"nvlink_ring_mid"'
ok "which it keeps" $?
run rollout undo

# ---- a file that is none ----
echo '{"half":' >"$XDG_STATE_HOME/ncclbpf/rollouts/one@$(uname -n).json"
ends 64 bad_argument "a broken file" rollout status
messages
