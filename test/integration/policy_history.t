#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The generations of a job: what was in use, when, by whom, and back to any of
# those that are kept.
. "$TOP/test/integration/control/lib.sh"
export NCCLBPF_SOCKET_DIR="$T/s"

go() { # ranks may run past a fence or near one: again, then
	for turn in $(seq 100); do
		sh_ 0 "$@" && return 0
		grep -q 'busy\|passed every fence\|have not reached' "$T/err" || return 1
		sleep 0.1
	done
	return 1
}
rows() { # how many there are
	sh_ 0 -q policy history && [ "$(grep -c '^ *[0-9]' "$T/out")" -eq "$1" ] ||
		{ cat "$T/out"; return 1; }
}
row() { # generation, text of its line
	sh_ 0 -q policy history && grep "^ *$1 " "$T/out" | grep -q -- "$2" ||
		{ cat "$T/out"; return 1; }
}

host --ranks 4 --procs 4 --rate 500
for p in tree ring choice; do sh_ 0 policy load "$P/$p.policy"; done
check "at first there is what the job began with" rows 1
check "no policy" row 0 none
check "1: tree" go policy use tree
check "2: ring and tree" go policy use ring tree
check "3: none" go policy use none
check "they are all there" rows 4
check "the newest is in use" row 3 'none.*in use'
check "the others can be gone back to" row 1 'tree.*yes'
check "in their order" row 2 'ring, tree.*yes'
ask "policy history"
says "who made it" "\"uid\":$(id -u)," '"pid":' '"time":"20'
says "its start, and what it says of itself" "\"host\":\"$(uname -n)\"" '"rollout":null'
whole() { # the start time of the PID is that of the process that the client names
	printf '%s' "$R" | grep -oE '"pid":[0-9]+,"start":[0-9]+,"by":\{[^}]*\}' |
		grep -qE '"pid":([0-9]+),"start":([0-9]+),.*"process":"[^"]*/\1/\2"'
}
check "both are one process" whole
says "nobody asked for the first" '"uid":null,"pid":null,"start":null,"by":null'
ask status
says "status says who made the generation in use" \
	"\"made\":{\"uid\":$(id -u)," "\"host\":\"$(uname -n)\""
check "in lines, too, beside the process that answered" sh_ 0 -o tsv policy history
check "by other names" told "by_uid.*by_pid"

check "back by two" go policy undo to=1
check "to what it was" told "policies tree"
check "as a generation of its own" row 4 'tree.*in use'
check "the one before, as ever" go policy undo
check "is no policy" row 5 'none.*in use'
check "back to the order of two" go policy undo to=2
settle
check "status says so" sh_ 0 -o table status
check "both" told "policies *ring, tree"
check "what is not there" sh_ 1 -j policy undo to=99
check "is not found" told '"code":"not_found"'
check "no number" sh_ 64 policy undo to=first
check "with if_generation" sh_ 2 policy undo to=1 if_generation=1
check "dry run" sh_ 0 -n policy undo to=1

# ---- content of coherent maps goes back with it
check "choice" go policy use choice
check "8: a value" go map set choice 0 hex:0200000003000000
check "another" go map set choice 0 hex:0200000002000000
check "back to the first" go policy undo to=8
settle
ask "map get choice 00000000"
says "the value of then" '"value":"0200000003000000"'

# ---- what is forgotten cannot be gone back to
check "none of them" go policy use none
settle
gone() { sh_ 0 policy unload ring; }
check "forget ring" await gone
check "its generation is not kept" row 2 'ring, tree.*no$'
check "nor gone back to" sh_ 1 policy undo to=2
check "others are" row 1 'tree.*yes'

# ---- no more than sixteen
many() {
	for i in $(seq 10); do go policy use tree && go policy use none || return 1; done
}
check "twenty more" many
check "sixteen are shown" rows 16
check "the first cannot be gone back to" sh_ 1 policy undo to=1

# ---- Lua
cat >"$T/a.lua" <<'END'
local nb = require "ncclbpf"
local t = assert(nb.attach { job = "t" })
local h = assert(t:policy_history()).history
assert(#h == 16 and h[1].kept and h[16].kept)
local c, err
for _ = 1, 100 do
	c, err = t:policy_undo { to = h[2].generation, if_generation = h[1].generation }
	if c or err.code ~= "busy" then break end
	nb.sleep(0.1)
end
assert(c, err)
local now = t:policy_history().history
assert(now[1].generation == c.generation and now[1].digest == h[2].digest)
c, err = t:policy_undo { to = 1 }
assert(not c and err.code == "not_found", err)
END
check "from Lua" sh_ 0 -f "$T/a.lua"
stop "a job with a history"
done_testing
