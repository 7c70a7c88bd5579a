#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Commands that need no job: build, verify, dump, diff, help, version, and
# each of their errors, for people and for programs.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
P=$B/policies/force.bpf.o
Q=$B/policies/noop.bpf.o
R=$B/test/corpus/shell/refused.bpf.o
cd "$T" || exit 1
cp "$P" force.bpf.o
cp "$Q" noop.bpf.o
cp "$R" refused.bpf.o
head -c 3000 "$P" >damaged.bpf.o
echo hello >text.bpf.o

golden version --version
status 0 "help on standard output" --help
has "help names options and commands" out "--dry-run" "policy load" "usage:"
golden help_words -o table help policy use
fails 64 usage "help of no command" help polcy
shape help_json help -o json

golden verify_good -o table policy verify force.bpf.o
shape verify_good_json -o json policy verify force.bpf.o
status 0 "a verdict with -v" -v -o table policy verify force.bpf.o
has "says what the policy takes of its budgets" out "budget: " \
	" of 2000000 instructions to verify it; maps take " " of 256M"
export NCCLBPF_MAX_POLICY_MEMORY=1
fails 65 over_limit "a policy whose maps take more than the operator allows" policy verify \
	"$B/test/corpus/shell/batch.bpf.o"
export NCCLBPF_MAX_POLICY_MEMORY=5
status 0 "and is accepted within the limit" policy verify "$B/test/corpus/shell/batch.bpf.o"
unset NCCLBPF_MAX_POLICY_MEMORY
L=$B/test/corpus/accept/callbacks.bpf.o
status 0 "a policy with loops" -o table policy verify "$L"
has "names the costliest one" out "program callbacks: the costliest loop, at " "callbacks.bpf.c:" \
	"loops end early after 1048576 in a decision"
D=$B/test/corpus/shell/nested_loops.bpf.o
status 0 "a policy with loops in loops" -o table policy verify "$D"
has "names the inner one, with all its iterations" out "nested_loops.bpf.c:16, takes 9" \
	"1000 iterations of "
status 0 "the same in JSON" -o json policy verify "$D"
has "has them as numbers" out '"loop_iterations":1000' '"loop_line":16' '"loop_share":9'
export NCCLBPF_MAX_RUN=4096
status 0 "a policy that takes longer than the operator allows" -o table policy verify "$D"
has "says so, the limit and the variable" out "note: program nested takes up to " \
	"a job refuses more than 4096 (NCCLBPF_MAX_RUN)"
unset NCCLBPF_MAX_RUN
C=$B/test/corpus/shell/long_controller.bpf.o
status 0 "controllers that take longer than a decision may" -o table policy verify "$C"
has "have the limit of controllers" out "loops end early after 33554432 in a run" \
	"note: program end_early takes up to " "loops of a controller end early after 33554432"
! grep -qE "NCCLBPF_MAX_RUN|note: program all_run" "$T/out"
ok "and not that of decisions" $?
N=$B/test/corpus/shell/notes.bpf.o
status 0 "a policy with notes" -o table policy verify "$N"
algo="ctx->algo is set to 7, but NCCL can take only -1 to 6"
has "says how many, and each with line and hint" out "1 note" \
	"note: notes.bpf.c:8: program notes: $algo; "
! grep -q " | " "$T/out"
ok "and without source lines" $?
status 0 "the same with -v" -v -o table policy verify "$N"
has "shows the source lines" out "      8 | ctx->algo = 7;"
status 0 "the same in JSON" -o json policy verify "$N"
has "has them as records" out \
	'"notes":[{"class":"impossible_answer",' '"line":8'
status 0 "a note of a line that the compiler has unrolled" -o table \
	policy verify "$B/test/corpus/shell/notes_unrolled.bpf.o"
has "is one note" out "1 note" "notes_unrolled.bpf.c:11: program notes_unrolled: "
status 0 "a variable at random" -o table policy verify "$B/test/corpus/shell/env_random.bpf.o"
has "is accepted with a warning that names line and helper" out \
	"warning: " "env_random.bpf.c:9: program on_env: ranks may find different variables: " \
	"source: bpf_get_prandom_u32 answers each rank differently"
status 0 "the same in JSON" -o json policy verify "$B/test/corpus/shell/env_random.bpf.o"
has "is a record" out '"warnings":[{' '"line":9' '"notes":[{"pc":'
status 0 "a variable by a local map" \
	-o table policy verify "$B/test/corpus/shell/env_local_map.bpf.o"
has "is accepted with a warning that names line and map" out \
	"warning: " "env_local_map.bpf.c:20: program on_env: ranks may find different variables: " \
	"map chosen is not __coherent" "; tag map chosen __coherent"
status 0 "a program that records local data and decides by none" -o table \
	policy verify "$B/test/corpus/shell/env_alike.bpf.o"
! grep -q warning "$T/out"
ok "has no warning" $?
status 0 "a variable that is the same on all ranks" \
	-o table policy verify "$B/test/corpus/events/env.bpf.o"
! grep -q warning "$T/out"
ok "has no warning" $?
status 2 "a refused policy" -o table policy verify refused.bpf.o
has "has its line in the table" out "refused  tuner  refused"
has "the refusal shows the line, a caret and a hint" err "l->bytes" "^" "required:" "hint:"
! grep -q "notes:" "$T/err"
ok "and no notes without -v" $?
status 2 "a refused policy with -v" -v -o table policy verify refused.bpf.o
has "has notes that tell how it got there" err "notes:" \
	"call bpf_map_lookup_elem#1; now r0 = bpf_map_lookup_elem(&limits), pointer to"
! grep -q "^0: " "$T/out"
ok "and not every state" $?
status 2 "a refused policy with -vv" -vv -o table policy verify refused.bpf.o
has "has every state of the walk" out "8: r1 = *(u64 *)(r0 +0)" \
	"    r0: pointer to a value of map limits, or NULL"
shape verify_refused_json -o json policy verify refused.bpf.o
run -o json policy verify refused.bpf.o
[ "$(wc -l <"$T/out")" -eq 1 ] && [ ! -s "$T/err" ]
ok "a refusal in JSON is one line and nothing on standard error" $?
fails 65 bad_elf "a text is no object" policy verify text.bpf.o
status 65 "a damaged object" policy verify damaged.bpf.o
golden verify_missing policy verify nosuch.bpf.o

golden build -o table policy build force.bpf.o
[ -f force.policy ]
ok "build writes beside the object" $?
status 0 "build out=FILE" policy build force.bpf.o out=other.policy
cmp -s force.policy other.policy
ok "equal input gives an equal image" $?
status 0 "build -o json gives JSON" policy build force.bpf.o -o json
has "and it is the envelope" out '"schema":"ncclbpf.policy.build/1"'
status 0 "build --dry-run" -n policy build noop.bpf.o
[ ! -e noop.policy ]
ok "writes nothing" $?
status 73 "build into a folder that is not there" policy build force.bpf.o out=/nonexistent/x.policy
golden verify_image -o table policy verify force.policy
printf 'x' | dd of=other.policy bs=1 seek=12 conv=notrunc 2>/dev/null
fails 65 bad_image "an image with another size than its header says" policy verify other.policy

status 0 "dump of an image" -o table policy dump force.policy
has "has instructions and source" out "section tuner" "map[force]" "force.bpf.c:" "exit"
shape dump_json -o json policy dump force.policy
status 0 "diff of two objects" -o table policy diff noop.bpf.o force.bpf.o
has "has lines that went and came" out "- noop " "+ force " "+map force: array"
shape diff_json -o json policy diff noop.bpf.o force.bpf.o
golden diff_equal -o table policy diff force.bpf.o force.policy
# other jobs of this machine may be there: they have no socket in our folder
status 0 "list without a job" -o tsv -q list
! grep -q attachable "$T/out"
ok "has nothing to attach to" $?
ends 69 no_target "no target" status
fails 69 no_target "a process that does not use NCCL" -p $$ status
fails 69 no_target "a process that does not exist" -p 99999999 status
(
	unset NCCLBPF_SOCKET_DIR
	lua_run -e 'local target = require "ncclbpf.job.target"
	target.sockets = function() return {}, {} end
	target.others = function() return { { pid = 1, reason = "r" } }, 0, {} end
	local _, err = target.choose {}
	assert(err.message:find "1 process with NCCL", err.message)
	assert(err.hint:find "^set NCCLBPF_SOCKET_DIR", err.hint)
	target.others = function() return {}, 0, {} end
	_, err = target.choose {}
	assert(err.hint:find "libncclbpf.so; or set NCCLBPF_SOCKET_DIR", err.hint)
	target.others = function() return { { pid = 1, reason = "r" },
		{ pid = 2, reason = "l", hint = "do this", loaded = true } }, 0, {} end
	_, err = target.choose {}
	assert(err.cause == "pid 2: l" and err.hint:find "^do this", err.cause)
	target.sockets = function() return {}, { { message = "mode 0777" } } end
	_, err = target.choose {}
	assert(err.cause == "mode 0777" and err.hint:find "^do this", err.hint)'
) >"$T/why" 2>&1
ok "without its own directory, the hint names the variables that select one" $?
status 0 "rollout list, without a job" -o table rollout list
has "says that there are none" out "no rollouts"

# help: topics, a command's own, and the nearest of what was meant
status 0 "help of one variable" help NCCLBPF_CONTROL
[ "$(grep -c NCCLBPF_ out)" -eq 1 ] && [ "$(wc -l <out)" -le 4 ]
ok "is about that one" $?
status 64 "help of a variable that does not exist" help NCCLBPF_CONTRO
status 0 "help environment" help environment
has "names settings, defaults and choices" out "NCCLBPF_POLICY" \
	"NCCLBPF_COHERENCE (strict)" "on|off"
status 0 "help behind a command" policy use --help
has "is that command's, with examples, as text in a pipe" out \
	"policy use NAME|FILE...|none" "policy use none "
fails 64 usage "an option misspelt" --dryrun
fails 64 usage "an option like no other: none is the nearest" --foo
fails 64 usage "a verdict of another kind" policy verify noop.bpf.o coherence=of
printf 'polcy list\n' >"$T/line"
"$S" <"$T/line" >"$T/out" 2>"$T/err"
[ $? -eq 64 ]
ok "a misspelt command of two words is no Lua error" $?
has "names the nearest" err "no command polcy" "nearest: policy"
fails 64 usage "the first letters of two commands" stat
fails 64 usage "a Lua script without -f" rollout.lua
fails 64 usage "a size of two words" explain allreduce 8 M

# errors of standard input say which line
printf 'x = 1\n\npolicy lod x\n' | "$S" >"$T/out" 2>"$T/err"
has "the line of a command" err "stdin:3: no command policy lod"
printf 'x = 1\ny = = 2\n' | "$S" >"$T/out" 2>"$T/err"
has "of what is not Lua" err "ncclbpf-shell: stdin:2: unexpected"
printf '\nfunction f()\nnosuch.x = 1\nend\nf()\n' | "$S" >"$T/out" 2>"$T/err"
has "of a chunk over several" err "ncclbpf-shell: stdin:3: attempt"
printf '\npolicy lod x\n' | "$S" -j >"$T/out" 2>"$T/err"
has "in JSON" out '"line":2'

# a change that waits at its fence
cat >"$T/pending.lua" <<'END'
local comm = require "ncclbpf.commands.comm"
local last = { generation = 4, state = "committed",
	comms = { { comm = "c0", state = "committed", fence = 90, ranks = 2, passed = 0 } } }
local replies = {
	explain = { coll = "allreduce", bytes = 4, comm = "c0", policies = {} },
	["change status"] = { last = last },
	status = { generation = 4, policies = { "force" } },
}
local function text(...)
	local generations = { ... }
	local result = comm.cmd_explain { args = { "allreduce", "4" }, opt = {}, flags = {},
		session = function()
		return { one = require("ncclbpf.job.session").Group.one,
			living = function() return { { rank = 0, pid = 1 } } end,
			ask = function(_, line)
			local per = {}
			for rank, generation in ipairs(generations) do
				local data = {}
				for k, v in pairs(replies[line:match "^explain" or line]) do
					data[k] = v
				end
				data.generation = data.generation or generation
				per[rank] = { member = { rank = rank - 1, pid = rank },
					data = data }
			end
			return per
		end }
	end }
	print(result.text:match "pending: [^\n]*" or "nothing pending")
end
text(3, 3)
last.comms[1].passed = 1
text(4, 3)
text(4, 4)
END
status 0 "explain before a fence" -f "$T/pending.lua"
pending="pending: generation 4 (policies force) decides from decision 90 on"
has "says what is to come, and when" out "nothing pending" \
	"$pending. 0 of 2 ranks have reached it;" \
	"1 of 2 ranks have reached it; a rank before that decision uses its old policies"

# ranks that differ in every row: a few notes, all with -v
cat >"$T/notes.lua" <<'END'
local read = require "ncclbpf.job.read"
local replies = {}
for rank = 0, 7 do
	local rows = {}
	for i = 1, 12 do rows[i] = { k = "row" .. i, v = rank < 3 and 1 or 2 } end
	replies[rank + 1] = { member = { rank = rank, pid = 100 + rank }, data = { rows = rows } }
end
for _, verbose in ipairs { false, true } do
	local result = read.command({ flags = { verbose = verbose }, session = function()
		return { ask = function() return replies end }
	end }, { schema = "x/1", line = "x", rows = function(d) return d.rows end,
		columns = { { "k" }, { "v" } }, id = "k" })
	print(#result.foot, result.foot[#result.foot])
end
END
status 0 "differences in every row" -f "$T/notes.lua"
has "are told in a few notes, all with -v" out \
	"4	note: 9 more differences between ranks; -v shows all" "12	note: v of row12"
cat >"$T/note.lua" <<'END'
local merge = require "ncclbpf.job.merge"
local function policies(v) return #v > 0 and table.concat(v, " ") or "none" end
local per = {}
for rank = 0, 7 do
	per[rank + 1] = { member = { rank = rank, pid = 100 + rank },
		rows = { { comm = "c0", policies = rank == 7 and {} or { "force" } } } }
end
local _, notes = merge.rows(per, { { "policies", show = policies } }, "comm")
print(table.concat(notes, "\n"))
END
status 0 "a rank that differs" -f "$T/note.lua"
has "is named with its value as the column shows it" out \
	"policies of c0: rank 7 has none; all others have force"

# every format of one answer
for f in table wide tsv csv json ndjson name; do
	golden "format_$f" -o $f policy verify force.bpf.o
done
run -jp policy verify force.bpf.o
lua_run -e '
	local c = require "ncclbpf.core" assert(c.decode(io.read "a").data.accepted)
' <"$T/out" 2>"$T/why"
ok "-jp is JSON too" $?
[ "$(wc -l <"$T/out")" -gt 10 ]
ok "and indented" $?

# libcurl takes longer to load than all other libraries of the shell.
if readelf -d "$S" | grep -qE 'libasan|libtsan'; then
	ok "libraries # SKIP a sanitizer's build" 0
else
	run -e '
		local n, m = 0, io.open("/proc/self/maps"):read "a"
		for l in m:gmatch "lib%w+%.so" do n = n + 1 end
		assert(n > 5 and not m:find "libcurl", m)'
	[ "$rc" -eq 0 ] &&
		! readelf -d "$S" "$B/lua/ncclbpf.so" |
		grep 'NEEDED.*libcurl' >"$T/why"
	ok "the shell does not load libcurl when it starts" $?
fi
mkdir broken
echo "not a library" >broken/libcurl.so.4
export LD_LIBRARY_PATH="$T/broken"
status 0 "commands that do not need it work without it" policy verify force.bpf.o
run --fleet http://127.0.0.1:1 -T 1 list
[ "$rc" -ne 0 ]
ok "a store cannot be asked without libcurl" $?
has "the error names the library" err "libcurl.so.4"
messages
