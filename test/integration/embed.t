#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# examples/embed: a program of 60 lines that links the core asks a policy.
set -u
n=0
embed=$B/examples/embed/embed
is() { # policy, bytes, status, output
	out=$("$embed" "$1" "$2" 2>&1)
	rc=$?
	n=$((n + 1))
	case $out in $4) [ $rc -eq "$3" ] ;; *) false ;; esac &&
		echo "ok $n - $(basename "$1"), $2 bytes: $out" ||
		echo "not ok $n - $(basename "$1"), $2 bytes: status $rc, $out"
}
is "$B/policies/size_aware.policy" 1024 0 "tree ll, channels 0"
is "$B/policies/size_aware.policy" 1048576 0 "ring ll128, channels 0"
is "$B/policies/size_aware.policy" 1073741824 0 "ring simple, channels 0"
is "$B/policies/noop.policy" 1024 0 "no opinion"
is "$TOP/Makefile" 1024 1 "embed: policy image: *"
n=$((n + 1))
[ "$(wc -l <"$TOP/examples/embed/embed.c")" -le 60 ] && echo "ok $n - at most 60 lines" ||
	echo "not ok $n - over 60 lines"
echo "1..$n"
