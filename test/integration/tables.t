#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Decision tables from CSV, Lua and NCCLX's JSON: compiled, verified, compared, exported,
# written as objects; used in a job; every fault with its place, and nothing
# written or loaded then.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
cat >tuner.csv <<'E'
# NVIDIA's columns
allreduce,0,65536,tree,ll,2,1,-1
allreduce,65537,4194304,ring,simple,1,-1,-1
allreduce,0,-1,ring,ll,-1,-1,-1
E
cat >tuner.lua <<'E'
return {
	name = "fromlua",
	{ coll = "allreduce", bytes = "..64K", nodes = 1, algo = "tree", proto = "ll",
		channels = 2 },
	{ coll = "allreduce", bytes = { 65537, "4M" }, algo = "ring", proto = "simple",
		channels = 1 },
	{ coll = "allreduce", algo = "ring", proto = "ll" },
}
E
printf 'return { { algo = "ring", bytes_per_rank = "1K..2K", ranks = 8 } }\n' >rows.lua

status 0 "compile CSV" -q policy build tuner.csv
has "rows and file" out "	3	"
status 0 "compile Lua to an object" policy build tuner.lua out=x.bpf.o
status 0 "the object is a policy like others" policy verify x.bpf.o
status 0 "a table of rows is enough" policy export rows.lua
has "sizes per rank times ranks" out "-1,8192,16391,ring,-1,-1,-1,8,-1,-1"
status 0 "CSV and Lua make the same rows" -o table policy diff tuner.csv tuner.lua
has "and the same instructions" out "equal in maps and instructions"
sed 's/ring,simple/ring,ll128/' tuner.csv >other.csv
status 0 "a difference is one of rows" -o table policy diff tuner.policy other.csv
has "both lines" out "-allreduce,65537,4194304,ring,simple,1" \
	"+allreduce,65537,4194304,ring,ll128,1"
status 0 "export to a file" policy export tuner.policy out=back.csv
status 0 "what was exported compiles" policy build back.csv out=again.policy name=tuner
run -q policy diff tuner.policy again.policy
[ "$rc" -eq 0 ] && [ ! -s "$T/out" ]
ok "to the same rows" $?
status 0 "an object goes back to rows, too" policy export x.bpf.o
has "as they were" out "allreduce,0,65536,tree,ll,2,1,-1,-1,-1"
cp "$B/policies/noop.bpf.o" .
fails 1 not_found "a policy that no table made has none" policy export noop.bpf.o

# every fault: place, value, what is allowed; nothing written
fault() { # line of CSV
	printf '# one\n%s\n' "$1" >bad.csv
	fails 65 malformed "fault: $1" policy build bad.csv
}
fault 'allreduze,0,1,tree,ll,2,1,1'
fault 'allreduce,x,1,tree,ll,2,1,1'
fault 'allreduce,9,1,tree,ll,2,1,1'
fault 'allreduce,0,1,rign,ll,2,1,1'
fault 'allreduce,0,1,ring,ll,0,1,1'
fault 'allreduce,0,1,ring'
fault 'allreduce,0,1,ring,ll,1,1,1,1,1'
[ ! -e bad.policy ]
ok "nothing is written" $?
printf 'allreduce,0,9,ring,ll,1,-1,-1\nallreduce,2,3,ring,ll,1,-1,-1\n' >hidden.csv
fails 65 malformed "a row that never wins" policy build hidden.csv
status 0 "hidden=keep" policy build hidden.csv hidden=keep
printf 'allreduce,0,9,ring,ll,1,-1,-1,-1,1\n' >reg.csv
status 0 "coherence=off takes reg_buff" policy build reg.csv coherence=off
status 2 "and the verifier does not, otherwise" policy verify reg.policy
fails 65 malformed "without it the table is refused" policy verify reg.csv
status 0 "verify takes coherence=off as well" policy verify reg.csv coherence=off

printf 'allreduce,,,tree,ll,,,\n' >empty.csv
status 0 "an empty field is -1 without a header line" policy export empty.csv
has "as with one" out "allreduce,0,18446744073709551615,tree,ll,-1,-1,-1,-1,-1"

# several faults
{
	echo 'allreduce,0,1,tree,ll,2,1,-1'
	for i in 1 2 3; do echo "allreduce,$i,9,rign,ll,2,1,-1"; done
	echo 'allreduce,9,1,tree,ll,2,1,-1'
} >bad.csv
fails 65 malformed "four bad rows" policy verify bad.csv
seq 12 | sed 's/.*/allreduce,x,9,ring,ll,2,1,-1/' >bad.csv
fails 65 malformed "twelve bad rows" policy verify bad.csv
printf 'coll,bites\nallreduce,1\nallreduce,2\n' >bad.csv
fails 65 malformed "a header that cannot be read is the only fault" policy verify bad.csv
printf 'allreduce,0,9,ring,ll,1,-1,-1\n%s\n%s\n' allreduce,2,3,ring,ll,1,-1,-1 \
	allreduce,4,5,ring,ll,1,-1,-1 >bad.csv
fails 65 malformed "two rows that never win" policy verify bad.csv
lua_run -e 'local nb = require "ncclbpf"
local p, err = nb.policy_verify { { { algo = "ring" }, { algo = "ring" }, { algo = "ring" } } }
assert(not p and err.row == 2, err)
assert(tostring(err):find "row 3: this row never wins: row 1", err)' 2>why
ok "rows in Lua, too" $?

# a file as NVIDIA's example has it: rows that depend on reg_buff beside others
cat >nvidia.csv <<'E'
# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
allreduce,0,65536,nvls,simple,4,1,-1,-1,1
allreduce,0,65536,tree,ll,2,1,-1,-1,0
allreduce,65537,4294967295,ring,ll128,-1,-1,-1,4,-1
allgather,0,4294967295,ring,simple,4,2,-1
E
status 0 "such a file loads" policy build nvidia.csv
has "with a note for each of these rows" err "note: nvidia.csv, line 2: reg_buff 1" \
	"note: nvidia.csv, line 3: reg_buff 0"
status 0 "its image has all rows" policy export nvidia.policy
has "as they were" out "allreduce,0,65536,nvls,simple,4,1,-1,-1,1" \
	"allgather,0,4294967295,ring,simple,4,2,-1,-1,-1"
status 0 "coherence=off uses them" policy build nvidia.csv coherence=off out=off.policy
[ ! -s err ]
ok "without a note" $?
cat >rules.json <<'E'
{ "rules": [
  { "filter": { "collective": "allgather", "bytesPerRank": "[0,1048576]", "nLocalRanks": 8 },
    "config": { "algorithm": "ring", "protocol": "ll128" } },
  { "filter": { "collective": "allreduce", "nNodes": "(1,)" },
    "config": { "algorithm": "tree", "protocol": "ll", "channels": 4, "chunkSize": 65536 } } ] }
E
status 0 "NCCLX's rules are a table" policy build rules.json
[ ! -s err ]
ok "without a note" $?
status 0 "with sizes per rank and ranges" policy export rules.policy
has "in columns of their own" out "reg_buff,ranks_per_node,bytes_per_rank,chunk_size" \
	"allgather,0,18446744073709551615,ring,ll128,-1,-1,-1,-1,-1,8,0..1048576,-1" \
	"allreduce,0,18446744073709551615,tree,ll,4,2..,-1,-1,-1,-1,-1,65536"
run policy export rules.policy out=rules.csv
status 0 "which compile to the same" -o table policy diff rules.policy rules.csv
has "policy" out "equal"
echo '{ "rules": [ { "filter": {}, "config": {} } ] }' >bad.json
fails 65 malformed "a rule without its collective" policy build bad.json
cat >reg_test.lua <<'E'
return { policy = "reg.csv", coherence = "off",
	{ name = "registered", context = { coll = "allreduce", bytes = 8, reg_buff = 1 },
		answer = { algo = "ring", proto = "ll", channels = 1 } },
	{ name = "not registered", context = { coll = "allreduce", bytes = 8 }, answer = {} } }
E
status 0 "and such a policy runs as it was made" policy test reg_test.lua
printf 'return 7\n' >seven.lua
echo 'while true do end' >ever.lua
fails 1 script_failed "a Lua file that never ends" \
	-e 'require("ncclbpf.base.clock").times.callback = 0.1' policy verify ever.lua
echo 'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end' >large.lua
fails 1 script_failed "one that allocates without bound" \
	-e 'require("ncclbpf.base.clock").times.callback = 300' policy verify large.lua
echo 'io.open("made", "w") return {}' >io.lua
fails 1 script_failed "one that would write" policy verify io.lua
[ ! -e made ]
ok "and has written nothing" $?
echo 'return require "os"' >require.lua
fails 1 script_failed "one that would load more" policy verify require.lua
status 65 "a Lua file that returns no policy" policy verify seven.lua
printf 'return {\n{ algo = "ring" }, { algoo = 1 } }\n' >typo.lua
fails 65 malformed "an unknown field" policy verify typo.lua
fails 64 usage "coherence=off is for tables" policy build noop.bpf.o coherence=off
cat >api.lua <<'E'
local nb = require "ncclbpf"
local rows = { name = "t", { coll = "allreduce", algo = "ring", proto = "ll", bytes = 4096 } }
local p = assert(nb.policy_build { rows, out = "saved.policy" })
assert(p.name == "t" and p.rows == 1 and nb.policy_verify { rows }.accepted)
assert(nb.policy_build { rows, out = "saved.bpf.o" }.digest == p.digest)
assert(nb.policy_export "saved.bpf.o".csv
	:find("allreduce,4096,4096,ring,ll,-1,-1,-1,-1,-1", 1, true))
local q, err = nb.policy_build { rows }
assert(not q and err.message:find "out=FILE", err)
local function made(...) return nb.policy_verify { { ... } } end
q, err = made({ algo = "ring" }, { algo = "ring", channels = 129 })
assert(not q and err.code == "malformed" and err.row == 2 and err.field == "channels"
	and tostring(err):find("row 2: channels is \"129\", but must be 1 to 128", 1, true), err)
q, err = made({ algo = "ring" }, { coll = "reduce", algo = "ring" })
assert(not q and err.row == 2 and err.message:find("row 1 always matches first", 1, true), err)
for _, row in ipairs { { bytes = "x" }, { bytes = { 1 } }, { bytes = {} }, { bytes = 1.5 },
	{ nodes = true }, { coll = "a,b" }, { coll = 7 },
	{ bytes = "1", min_bytes = 2 }, { ranks_per_node = "~" }, { nodes = { 8, 2 } },
	{ bytes_per_rank = "4T..", ranks = 9999999 }, { algo = "a\nb" } } do
	row.proto = "ll"
	q, err = made(row)
	assert(not q and err.code == "malformed" and err.row == 1, err)
end
q, err = made(7)
assert(not q and err.message:find "row 1: the row is a number, but must be a table of fields", err)
q, err = nb.policy_verify { { nam = "x" } }
assert(not q and err.message:find "field nam is unknown; a table has rows", err)
q, err = nb.policy_verify "bad.csv"
assert(not q and err.where.line == 2, err)
E
lua_run api.lua >"$T/why" 2>&1
ok "the same from a plain Lua" $?

if [ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ]; then
	job demo --ranks 2 --procs 2 --rate 300
	status 65 "a broken table does not reach the job" policy load bad.csv
	status 0 "load CSV" policy load tuner.csv
	run -q -o name policy list
	[ "$(cat "$T/out")" = tuner ]
	ok "the job holds it, and no other" $?
	status 0 "use" policy use tuner
	await settled demo
	status 0 "explain" -o table explain allreduce 32K
	has "the row's answer" out "tree" "tuner"
	status 0 "export from the job" policy export tuner
	has "its rows" out "allreduce,0,65536,tree,ll,2,1,-1,-1,-1"
	status 0 "use of a file with rows that depend on reg_buff" policy use nvidia.csv
	has "has their notes" err "note: nvidia.csv, line 2: reg_buff 1"
	await settled demo
	status 0 "explain, where such a row matches" -o table explain allreduce 32K
	has "says who decides" out "table nvidia: row 1 (allreduce,0,65536,nvls,simple,4,1" \
		"; NCCL decides, because reg_buff may differ between ranks)"
	status 0 "an image under another name" policy load tuner.policy name=other
	run -q -o name policy list
	grep -qx other "$T/out"
	ok "is held under that" $?
	status 0 "the job takes rows made in Lua, under their name or another" -e '
local rows = { name = "made", { algo = "ring" } }
assert(nb.policy_load { rows }.name == "made")
local q = assert(nb.policy_load { rows, name = "again" })
assert(q.name == "again" and nb.policy_show "again".digest == q.digest)
local none, err = nb.policy_load { rows, name = "no such/name" }
assert(not none and err.message:find "name has 1 to 63", err)'
else
	ok "a running job # SKIP no plugin or no stand-in host in the build" 0
fi
messages
