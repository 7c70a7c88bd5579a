# SPDX-License-Identifier: MIT
# Sourced by suites in sh: what waits for an event.
# So many times await looks: what has not come by then never comes. A look takes longer on a
# loaded machine, so this is no time.
LOOKS=2000
# Seconds between two looks; more where a look itself takes processor time.
PAUSE=0.1
# What one command takes (seconds) at most, however loaded the machine is.
HANG=900

# The status of a condition that can no longer become true.
NEVER=99

# await COMMAND...: until it succeeds, or $LOOKS times. Fails at once if its status is $NEVER.
await() {
	looks=0
	while :; do
		"$@" && return
		if [ $? -eq $NEVER ] || [ $((looks += 1)) -ge $LOOKS ]; then
			echo "# it never came: $*"
			return 1
		fi
		sleep $PAUSE
	done
}

# halt PID...: stop processes, and return when all their threads have: a thread that runs may
# still answer after kill(2).
halted() { ! grep -h '^State:' "/proc/$1"/task/*/status 2>/dev/null | grep -qv 'T (stopped)'; }
halt() {
	kill -STOP "$@" || return
	for halting; do await halted "$halting" || return; done
}

# lose PID...: processes end at one moment, as where their host is lost: none of them sees that
# another one has ended, and cleans up behind it. The first ones end first.
lose() { halt "$@" && kill -KILL "$@" 2>/dev/null; }

# all_ended PID...: have all threads of these processes ended? A process that was killed may still
# answer for a moment, and is a zombie until its parent has waited for it.
all_ended() {
	for ending; do
		! grep -hs '^State:' "/proc/$ending"/task/*/status | grep -qv '[ZX] (' || return 1
	done
}

# is_late FILE...: do they say that a change was refused because ranks or a site were late? Lines
# for people are wrapped.
is_late() {
	cat "$@" | tr -s '\n ' ' ' | grep -qE 'every fence|have not reached|not answered for'
}

# while_lives PID COMMAND...: COMMAND, for await; it can no longer succeed once PID has ended.
while_lives() {
	process=$1
	shift
	"$@" && return
	kill -0 "$process" 2>/dev/null && return 1
	return $NEVER
}
