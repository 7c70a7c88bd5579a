#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The prompt, at a pseudo-terminal: completion, history and ^R, UTF-8,
# unfinished chunks, Ctrl-C once and twice, Ctrl-D, a target that goes away.
. "$TOP/test/integration/shell_lib.sh"
need_host "the prompt"
trap finish EXIT
cd "$T" || exit 1
cp "$B/policies/force.bpf.o" "$B/policies/noop.bpf.o" .
export NO_COLOR=1
# libedit keeps the names given with EL_ADDFN
export ASAN_OPTIONS=detect_leaks=0
job demo --ranks 4 --procs 4 --rate 200
# A prompt has the generation, however long a busy job takes to tell it.
export XDG_CONFIG_HOME="$T/patient"
mkdir -p "$XDG_CONFIG_HOME/ncclbpf"
echo 'require("ncclbpf.base.clock").times.prompt = 60' >"$XDG_CONFIG_HOME/ncclbpf/init.lua"

# at NAME [ARGS...]: a session; the script is on standard input
at() {
	name=$1
	shift
	"$B/test/fakes/terminal/pty" "$S" "$@" >"$T/why" 2>&1
	ok "$name" $?
}

at "the prompt names the job; Ctrl-D ends the shell, and the job continues" <<'END'
expect ncclbpf demo/0-3 #0>
send \x04
expect the job continues
status 0
END
at "a command runs, also by a beginning that no other command has" <<'END'
expect #0>
send comm list\n
expect DECISIONS
expect #0>
send pol li\n
expect no policies
send quit\n
status 0
END
at "Tab completes nouns, verbs and files" <<'END'
expect #0>
send poli\t
expect cy
send loa\t
expect d 
send for\t
expect ce.bpf.o
send \n
expect accepted
expect #0>
send policy \t
expect verify
send \x15
send quit\n
status 0
END
# the names of a busy job come as well
at "Tab completes live names" <<'END'
expect #0>
send require("ncclbpf.base.clock").times.complete = 60\n
expect #0>
send policy use f\t
expect orce
send \n
expect committed
expect #1>
send map dump f\t
expect orce
send \n
expect channels=0
send map set force 0 {algo=ring, proto=ll128, enabled=1}\n
expect committed
expect #2>
send quit\n
status 0
END
at "Tab completes Lua" <<'END'
expect #2>
send nb.atta\t
expect ch
send \x15
send nb.policy_und\t
expect o
send \x15
send quit\n
status 0
END
at "what turns everything off is confirmed" <<'END'
expect #2>
send policy use none\n
expect go on? [y/N]
send n\n
expect not confirmed
expect #2>
send quit\n
status 0
END
NCCLBPF_PAGER='sed s/^/paged:/' at "long output goes through the pager" <<'END'
size 10 100
expect #2>
send help\n
expect paged:job
expect #2>
send comm list\n
absent paged:
send quit\n
status 0
END
# short NAME ARGS...: one command, in a terminal of ten rows
short() {
	name=$1
	shift
	NCCLBPF_PAGER='sed s/^/paged:/' "$B/test/fakes/terminal/pty" \
		sh -c "stty rows 10; exec '$S' --no-rc $*" >"$T/why" 2>&1
	ok "$name" $?
}
short "so does long output of a command without a prompt" help <<'END'
expect paged:job
expect paged:shell
status 0
END
short "short output does not" help quit <<'END'
absent paged:
status 0
END
short "nor does output that is repeated" watch 50ms count=2 help <<'END'
absent paged:
status 0
END
at "the user sends the output of a command to a program or a file" <<'END'
expect #2>
send comm list | sed -n "s/^rank.*/piped: &/p" | head -n 1\n
expect piped: rank
expect #2>
send policy list > folder.tsv\n
expect #2>
send policy list -q >> folder.tsv\n
expect #2>
send map set force 0 {algo=ring} -n | tr a-z A-Z\n
expect STAGED
expect #2>
send policy list | nosuchprogram\n
expect no program nosuchprogram
expect #2>
send policy list >\n
expect one file must follow
expect #2>
send policy list > a b\n
expect one file must follow
expect #2>
send = 5 | 2\n
expect 7
send quit\n
status 0
END
at "a repeated command sends each line to a program or a file at once" <<'END'
expect #2>
send watch 50ms comm list | sed -un "s/.*Z  comm list$/piped: =/p" | tr = +\n
expect piped: +
absent #2>
send \x03
expect interrupted
expect #2>
send watch 50ms status -o json | head -n 3 | tr a-z A-Z\n
expect SCHEMA
expect #2>
send watch 50ms comm list | head -n 3 | tr a-z A-Z\n
expect COMM LIST
expect #2>
run sleep 2.1
send watch 50ms comm list > lines\n
run for i in $(seq 200); do [ -s lines ] && break; sleep 0.1; done; cp lines early
send \x03
expect interrupted
expect #2>
send policy list > nowhere/at/all\n
expect nowhere/at/all: No such file
send quit\n
status 0
END
grep -q 'Z  comm list$' early
ok "the file has lines while the command runs" $?
sed 1d folder.tsv | cut -f3,4 | sort | uniq -c | awk '$1 % 2 { bad = 1 } END { exit bad || !NR }' &&
	[ "$(sed -n 1p folder.tsv | cut -f3)" = name ]
ok "as a pipe or a file has it: with tabs, appended by >>" $?
at "a beginning that several commands have runs none of them" <<'END'
expect #2>
send stat\n
expect stat is ambiguous: stats, status
expect #2>
send policy l\n
expect policy l is ambiguous: list, load
expect #2>
send pol\n
expect policy needs a second word: add,
expect #2>
send pol lo\n
expect policy load: too few words
expect #2>
send pol xyz\n
expect no command policy xyz
expect #2>
send stat = 4\n
send = stat\n
expect 4
send quit\n
status 0
END
at "Lua: expressions, equals sign, errors, a table" <<'END'
expect #2>
send 20 + 22\n
expect 42
send = nb.size "4M"\n
expect 4194304
send x = {a = 1}\n
send x\n
expect {a=1}
send error "oops"\n
expect ncclbpf-shell:
expect oops
send nosuchword\n
expect no command nosuchword
send nb.comm_list().comms[1].ranks\n
expect 4
send quit\n
status 0
END
at "a chunk over several lines; Ctrl-C drops it" <<'END'
expect #2>
send for i = 1, 2 do\n
expect …
send print("round " .. i)\n
expect …
send end\n
expect round 1
expect round 2
send for i = 1, 2 do\n
expect …
send \x03
expect ^C
expect ncclbpf demo
send = 1 + 1\n
expect 2
send quit\n
status 0
END
at "UTF-8 is typed, edited and shown" <<'END'
expect #2>
send = "grün→"\n
expect grün→
expect #2>
send = #"é"\n
expect 2
send = utf8.len("añb\x7f")\n
expect 2
send quit\n
status 0
END
at "history goes from one shell to the next; ^R searches it" <<'END'
expect #2>
send = "needle" .. 7\n
expect needle7
send = 1\n
expect 1
send quit\n
status 0
END
at "^R finds it" <<'END'
expect #2>
send \x12need
expect needle
send \n\n
expect needle7
send \e[A\e[A\n
send quit\n
status 0
END
[ "$(stat -c %a "$T/history")" = 600 ]
ok "the history is the user's alone" $?
at "a leading blank and repeats are not kept" <<'END'
expect #2>
send  = "secret"\n
expect secret
send = "twice"\n
expect twice
send = "twice"\n
expect twice
send quit\n
status 0
END
! grep -q secret "$T/history" && [ "$(grep -c twice "$T/history")" -eq 1 ]
ok "in the file" $?
at "Ctrl-C stops a chunk that catches errors; the shell lives" <<'END'
expect #2>
send print("be" .. "gun") while true do pcall(function() while true do end end) end\n
expect begun
send \x03
expect interrupted
expect #2>
send = 6 * 7\n
expect 42
run sleep 2
send quit\n
status 0
END
at "Ctrl-C stops a coroutine, and who resumed it" <<'END'
expect #2>
send function spin() while true do pcall(function() while true do end end) end end\n
send print("be" .. "gun") while true do coroutine.resume(coroutine.create(spin)) end\n
expect begun
send \x03
expect interrupted
run sleep 2.1
expect #2>
send print("on" .. "ce more") coroutine.wrap(function() coroutine.wrap(spin)() end)()\n
expect once more
send \x03
expect interrupted
send function three(...) coroutine.yield(...) end\n
send = select("#", coroutine.wrap(three)(1, nil, nil)), pcall(coroutine.wrap(error), "no")\n
expect 3	false	no
send quit\n
status 0
END
at "the last decisions are more than a pipe holds" <<'END'
expect #2>
send = #nb.decision_tail { count = 1000 }.decisions\n
expect 1000
send quit\n
status 0
END
NCCLBPF_PAGER='head -n 2' at "a pager that is quit early leaves the prompt" <<'END'
expect #2>
send decision tail count=1000\n
expect COMM
expect #2>
send = 40 + 2\n
expect 42
send quit\n
status 0
END
at "Ctrl-C stops a command that follows a map" <<'END'
expect #2>
send map dump force follow=yes every=100ms\n
expect channels=
absent #2>
send \x03
expect interrupted
expect #2>
run sleep 2.1
send watch 10 comm list\n
expect DECISIONS
send \x03
expect interrupted
expect #2>
send quit\n
status 0
END
at "Ctrl-C at the prompt drops the line; twice within two seconds ends" <<'END'
expect #2>
send comm li
send \x03
expect ^C
expect #2>
run sleep 2.1
send = 1 + 2\n
expect 3
expect #2>
send \x03
expect ^C
expect #2>
send \x03
expect the job continues
status 130
END
at "Ctrl-C twice ends what cannot be stopped" <<'END'
expect #2>
send print("be" .. "gun") string.rep("a", 60):find(string.rep("a-", 30) .. "b")\n
expect begun
send \x03
expect ^C
run until grep -q '^ShdPnd:.0*$' /proc/$(pgrep -P $PPID ncclbpf-shell)/status; do sleep 0.05; done
send \x03
status 130
END
at "a rank that dies is told above the line, which stays" <<END
expect ncclbpf demo/0-3 #2>
send = 40 +
run kill -9 $(rank_pid demo 3)
expect rank 3 of job demo went away, 3 left
send  2\n
expect 42
expect ncclbpf demo/0-2
send quit\n
status 0
END
at "the last process goes: detached, at once" <<END
expect ncclbpf demo/0-2 #2>
run kill $job
expect detached
expect ncclbpf (detached)>
send comm list\n
expect ncclbpf-shell: comm list
send = "alive"\n
expect alive
send quit\n
status 0
END
unset XDG_CONFIG_HOME
mkdir -p "$T/.config/ncclbpf"
echo 'greeting = "from init"' >"$T/.config/ncclbpf/init.lua"
at "init.lua is run" <<'END'
expect ncclbpf
send greeting\n
expect from init
send quit\n
status 0
END
echo 'greeting = = 1' >"$T/.config/ncclbpf/init.lua"
at "a wrong init.lua is told, the prompt comes" <<'END'
expect --no-rc starts without it
expect ncclbpf
send = 1 + 1\n
expect 2
send quit\n
status 0
END
at "without a job there is a prompt, and a reason" --no-rc <<'END'
expect no process to attach to
expect ncclbpf
send status\n
expect no process to attach to
expect ncclbpf>
send \x04
status 0
END
