#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# A job on two sites: a generation has one number in all commands and on all sites,
# which if_generation= and policy undo to= take; status names all sites; a rollout
# waits for the ranks of both sites and is promoted.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "one number of a generation"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] || skip_all "one number" "no clang at build time"
enter_store
tls_store numbers
force=NCCLBPF_POLICY=$B/policies/force.policy
two_sites numbers --rank-env "0:$force" --rank-env "1:$force" --rank-env "2:$force" \
	--rank-env "3:$force"

# of COMMAND COLUMN: its values, each once
of() {
	column=$1
	shift
	run -o tsv "$@"
	values "$column"
}
values() {
	awk -F '\t' -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		!seen[$h[want]]++ { printf "%s ", $h[want] }' out
}
everywhere() { # N: is the generation N in all commands
	[ "$(of generation status)" = "$1 " ] && [ "$(of generation comm list)" = "$1 " ] &&
		[ "$(of generation list)" = "$1 " ] &&
		[ "$(of generation change status)" = "$1 " ] &&
		[ "$(of generation decision tail count=1)" = "$1 " ] &&
		of generation policy history | grep -q "^$1 "
}
change() { # NAME COMMAND...: a change; its number in $n
	name=$1
	shift
	run -o tsv "$@"
	n=$(values generation | tr -d ' ')
	[ "$rc" -eq 0 ] && [ "${n:-0}" -gt 0 ] && await everywhere "$n"
	shown=$?
	where="the reply, status, comm list, change status, decision tail, list and policy history"
	ok "$name: $where say $n" $shown
}
change "a change" policy use "$B/policies/size_aware.policy"
first=$n
"$etcd" ctl "$T/etcd" get --print-value-only /ncclbpf/1/numbers/order/stage |
	grep -q "\"inline\":{\"$(sha256sum <"$B/policies/size_aware.policy" |
	cut -c1-64)\":\"[A-Za-z0-9+/]*=*\"}"
ok "the order brings the small image of a policy" $?
change "the next" policy use none
status 0 "if_generation takes that number" policy use "$B/policies/size_aware.policy" \
	"if_generation=$n"
status 0 "another" policy use none
change "an undo" policy undo "to=$first"
[ "$(of policies status)" = "size_aware " ] || [ "$(of policies status)" = '["size_aware"] ' ]
ok "policy undo to= takes that number too, on all sites" $?
run -o wide status
[ "$(grep -c '^ *site .*segment' out)" -eq 2 ] && grep -q 'ranks 0-1' out && grep -q 'ranks 2-3' out
ok "status names both sites, their ranks and segments" $?

# ---- a rollout over both sites ----
status 0 "a list of policies to start from" policy use none
cat >plan.lua <<END
return { name = "mid", candidate = "$B/policies/nvlink_ring_mid.policy", blocks = 10, samples = 20,
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	judge = { confidence = 0.98, min_effect_pct = 1, looks = 2 } }
END
run -o table rollout start plan.lua
cp out plan.out
grep -q "mid: succeeded" out
ok "a rollout over both sites is promoted" $?
[ "$(of policies status)" = "nvlink_ring_mid " ] ||
	[ "$(of policies status)" = '["nvlink_ring_mid"] ' ]
ok "its policy is in use on both sites" $?
run -o json audit count=1
id=$(sed -n 's/.*"rollout":"\(mid-[^"]*\)".*/\1/p' out)
[ "$id" ] && grep -q "\"id\":\"$id\"" state/ncclbpf/rollouts/numbers@*.json &&
	grep -q '"process":"[^"]*/[0-9]*/[0-9]*"' out
ok "audit names the rollout that promoted it, and its process" $?
# same MEMBER: how many values the newest generation's maker has, over all processes
made() { grep -o '"made":{[^}]*}}' out | grep -o "\"$1\":\"[^\"]*\"" | sort -u | wc -l; }
run -o json status
[ "$(made user)$(made host)$(made process)$(made rollout)" = 1111 ] &&
	grep -q "\"rollout\":\"$id\"" out
ok "status of all sites names the same user, host, process and rollout" $?
run -o json policy history
[ "$(grep -o "\"rollout\":\"$id\"" out | wc -l)" -ge 4 ]
ok "and so does policy history of each process" $?
cat >own.lua <<'END'
-- Changes since a generation: are all of them the rollout's?
local nb = require "ncclbpf"
local job, session, sites = require "ncclbpf.rollout.job", require "ncclbpf.job.session",
	require "ncclbpf.job.sites"
local g = assert(session.attach({ fleet = os.getenv "NCCLBPF_FLEET", job = "numbers" }, 300))
local function now() return sites.generation(g.store, g.job) end
local function own(id, since) return job.is_own { group = g, id = id, generation = since } end
local function change(...) -- ranks or a site may be late
	local done, err
	repeat done, err = g:change(...) until done or err.code ~= "busy"
	return done, err
end
local first = now()
assert(not own("mine", first), "no change, and it is ours")
assert(change("policy use none", { rollout = "mine" }))
assert(own("mine", first) and not own("other", first), "one change")
local r = { group = g, id = "mine", generation = first }
assert(job.is_own(r) and r.generation == now(), "the newest generation is adopted")
assert(change("policy use nvlink_ring_mid"))
assert(change("policy use none", { rollout = "mine" }))
assert(not own("mine", first), "somebody else's change came between")
assert(own("mine", now() - 1))
END
lua_run own.lua >why 2>&1
ok "a rollout knows its own changes by its identity, and others' changes between them" $?
kill "$job"
wait "$job"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
