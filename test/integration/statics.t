#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: cpu  limit: 600
# A static function can be found by its name: in plugin/ at most two files share
# one, in the whole tree at most twelve. No macro has the name of a function of libc.
set -u
T=$(mktemp)
trap 'rm -rf "$T" "$T.d"' EXIT
. "$TOP/test/tap.sh"
log=$T

# How many files have each name, and the name.
names() { # folders
	find "$@" -name '*.c' | sort | while read -r f; do
		grep -oE '^(static|NB_INLINE)[^;={(]*[ *][a-z_0-9]+\(' "$f" |
			grep -v __attribute__ | sed -E 's/.*[ *]([a-z_0-9]+)\($/\1/' | sort -u
	done | sort | uniq -c | sort -rn
}
most() { # files, folders
	limit=$1
	shift
	names "$@" >"$T"
	awk -v m="$limit" '
		$1 > m { print "# " $2 " is in " $1 " files"; bad = 1 }
		END { exit bad }
	' "$T"
	rc=$?
	[ "$(wc -l <"$T")" -gt 100 ] || rc=1
	say $rc "at most $limit files share a static's name: $*"
}
cd "$TOP" || exit 1
most 2 plugin
most 12 core lua plugin shell
# The macros of these folders that have the name of a function of libc.
taken() {
	grep -rhoE '^[[:blank:]]*#[[:blank:]]*define [a-z_][a-z0-9_]*' --include='*.[ch]' "$@" |
		sed 's/.* //' | sort -u | join - "$T.d/libc" >"$T"
	[ ! -s "$T" ]
}
mkdir "$T.d"
nm -D --defined-only "$(ldd "$B/ncclbpf-shell" | awk '/libc\.so/ { print $3 }')" |
	sed 's/.* //; s/@.*//' | sort -u >"$T.d/libc"
taken core lua plugin shell
say $? "no macro has the name of a function of libc"
echo '#define snprintf helper_snprintf' >"$T.d/helpers.c"
taken "$T.d"
[ "$(cat "$T")" = snprintf ]
say $? "such a macro would be found"
echo "1..$n"
exit $bad
