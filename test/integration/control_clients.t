#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Clients that are slow, dead, too many, hostile or somebody else; processes
# that die, fork, or left a socket behind. The ranks decide on through it all.
. "$TOP/test/integration/control/lib.sh"

# ---- what lies in the directory before
host --ranks 1
old=$S
kill -9 "$HOST"
wait "$HOST" 2>/dev/null
check "a killed process leaves its socket" test -S "$old"
ln -s /nowhere "$T/s/t.-.1.sock.link"
host --ranks 2
check "the next process removes the stale one" test ! -e "$old"
check "and nothing else" test -L "$T/s/t.-.1.sock.link"
check "the socket's mode is 0600" test "$(stat -c %a "$S")" = 600

# ---- two clients
(
	echo status
	await test -e "$T/go"
	echo status
) | timeout $HANG "$C/client" "$S" >"$T/one" &
one=$!
ask "status" "policy list"
says "a second client is served beside the first" '"policies":'
: >"$T/go"
wait $one
check "and the first goes on" test "$(grep -c '"ok":true' "$T/one")" -eq 2

# ---- clients that die
printf '!raw 706f6c696379206c\n!die\n' | "$C/client" "$S" >/dev/null # "policy l"
printf '!fd %s\n!raw 706f6c696379206c6f616420\n!die\n' "$P/ring.policy" |
	"$C/client" "$S" >/dev/null
load ring choice tables tree big
ask "policy use ring" "policy list"
says "clients killed in mid-line and mid-load do no harm" '"name":"ring"' '"in_use":true'
printf '!fd %s\n!send policy load ring\n' "$P/ring.policy" |
	timeout $HANG "$C/client" "$S" >/dev/null
ask "status"
says "nor one that goes before the answer" '"ok":true'
pid=$(basename "$S" | cut -d. -f4)
fds() { ls "/proc/$pid/fd" | wc -l; }
before=$(fds)
ask "!fd $P/ring.policy" "status" "!fd $P/ring.policy" "!fd $P/ring.policy" "status"
as_before() { [ "$(fds)" -le "$before" ]; }
check "descriptors that nobody asked for are closed" await as_before

# ---- half-open lines, silence, too long a line
(
	echo '!raw 737461'
	echo '!read 2'
) | timeout $HANG "$C/client" "$S" >"$T/half" &
half=$!
printf '!read 2\n' | timeout $HANG "$C/client" -n -t $HANG "$S" >"$T/silent" &
silent=$!
ask "!fill 65535 a" "!raw 0a" "!read"
says "the longest line is answered" '"code":"usage"'
ask "!fill 65536 a" "!read" "!read"
check "a longer one is refused" grep -q '"code":"over_limit"' "$T/r"
says "and its sender is closed" closed
ask "policy dump ring" "!shut" "!read"
says "after shutdown of the sending side" closed
check "the replies still come" grep -q '"name":"ring"' "$T/r"

# ---- too many
mkfifo "$T/hold"
exec 8<>"$T/hold"
holders=
hold() { # N that stay; those of before have gone
	# shellcheck disable=SC2086
	[ -n "$holders" ] && kill $holders 2>/dev/null
	holders=
	for i in $(seq "$1"); do
		timeout $HANG "$C/client" "$S" <"$T/hold" >/dev/null 8<&- &
		holders="$holders $!"
	done
}
turned_away() {
	printf '!read\n!read\n' | timeout $HANG "$C/client" -n -t 1 "$S" >"$T/r"
	grep -q '"code":"busy"' "$T/r"
}
full() {
	for turn in $(seq 20); do turned_away && return 0; done
	echo "# not full: $(fds) descriptors, $(ps -o pid= -p "$(echo $holders | tr ' ' ,)" |
		wc -l) clients"
	return 1
}
hold 16
full || { hold 16 && full; } || { hold 16 && full; }
check "the seventeenth connection is told busy" test $? -eq 0
check "and closed" grep -q closed "$T/r"
wait $half
check "a half-open line times out" grep -q '"code":"timed_out"' "$T/half"
# shellcheck disable=SC2086
kill $holders 2>/dev/null
exec 8<&-
ask "status"
soon "room again after they left" '"ok":true'

# ---- slow readers: each keeps its connection until another client needs the place
printf '!flood 200 policy dump big\n!sleep 7000\n!read 200\n' |
	timeout $HANG "$C/client" "$S" >"$T/slow" &
slow=$!
printf '@1 decision tail count=1 follow=yes\n!sleep 7000\n!read 12\n' |
	timeout $HANG "$C/client" "$S" >"$T/late" &
late=$!
alive "while a client does not read"
wait $slow
check "a client that reads late gets all replies" test "$(grep -c '"ok":true' "$T/slow")" -eq 200
wait $late
check "a stream that is not read is not closed" test \
	"$(grep -c '"id":1,"ok":true' "$T/late")" -eq 13
wait $silent
check "a client that says nothing is closed in the end" grep -q 'no hello' "$T/silent"
rm -f "$T/go"
(
	echo status
	echo '!flood 20000 policy dump big'
	await test -e "$T/go"
	echo '!until no-such-text'
) | timeout $HANG "$C/client" "$S" >"$T/stuck" &
stuck=$!
await grep -q '"ok":true' "$T/stuck"
# With streams that they read, so none of them is idle.
holders=
for i in $(seq 15); do
	printf '@1 trace start events=gin_put follow=yes\n!until no-such-text\n' |
		timeout $HANG "$C/client" -t $HANG "$S" >"$T/held.$i" &
	holders="$holders $!"
done
held() { [ "$(grep -l '"id":1,"ok":true' "$T"/held.* | wc -l)" -eq 15 ]; }
await held
served() { echo status | timeout $HANG "$C/client" "$S" 2>/dev/null | grep -q '"ok":true'; }
check "a client that reads nothing gives way when all connections are in use" await served
: >"$T/go"
wait $stuck
check "and is closed" grep -q '^closed' "$T/stuck"
streams() { ! served; }
(
	echo '@1 trace start follow=yes'
	echo '!until no-such-text'
) | timeout $HANG "$C/client" "$S" >"$T/quiet" &
quiet=$!
await grep -q '"ok":true' "$T/quiet"
check "a client with a stream has the last place" await streams
kill $quiet
wait $quiet
rm -f "$T/go"
(
	echo '@1 decision tail count=1 follow=yes'
	await test -e "$T/go"
	echo '!until no-such-text'
) | timeout $HANG "$C/client" "$S" >"$T/stuck" &
stuck=$!
await grep -q '"ok":true' "$T/stuck"
check "one that no longer reads its stream gives way too" await served
: >"$T/go"
wait $stuck
check "and is closed, too" grep -q '^closed' "$T/stuck"
# shellcheck disable=SC2086
kill $holders 2>/dev/null

# ---- somebody else
if [ "$(id -u)" -eq 0 ]; then
	chmod 711 "$T" "$T/s"
	chmod 666 "$S"
	printf '!read\n!read\n' | timeout $HANG "$C/client" -n -u 65534 "$S" >"$T/r" 2>&1
	check "another uid is not served" grep -q '"code":"not_permitted".*uid 0.*uid 65534' "$T/r"
	check "and closed" grep -q closed "$T/r"
	check "and logged" grep -q 'uid 65534 pid [0-9]* was rejected' "$T/host.err"
	chmod 600 "$S"
	chmod 700 "$T" "$T/s"
else
	skip "another uid is not served" "needs root"
fi

# ---- garbage, and everybody at once
check "fuzzed lines" timeout 300 "$C/stress" "$S" "${STRESS_S:-4}" 2 $$
echo "# $(cat "$T/check")"
alive "after fuzzed lines"
check "four clients hammer it" timeout 300 "$C/stress" "$S" "${STRESS_S:-4}" 4 7
echo "# $(cat "$T/check")"
alive "after four clients"
ask "policy use none"
stop "after everything"

done_testing
