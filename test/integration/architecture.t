#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/architecture.md: the files it names exist, it has a row for each room,
# and its picture is the one that layers.txt makes.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$TOP" || exit 1
doc=docs/architecture.md
n=0
is() { # status, name
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || { echo "not ok $n - $2"; sed 's/^/# /' "$T/why"; }
}
named() { # file: the paths it names in backquotes, without those of targets
	grep -oE '`[a-zA-Z_0-9./-]+/[a-zA-Z_0-9./-]+`' "$1" | tr -d '`' | sort -u
}
missing() {
	named "$1" | while read -r path; do
		[ -e "$path" ] || echo "$path"
	done >"$T/why"
	[ ! -s "$T/why" ]
}
missing $doc
is $? "all files and folders that it names exist"
sed 's|`shell/main.c`|`shell/nothing.c`|' $doc >"$T/doc"
missing "$T/doc"
[ $? -ne 0 ] && [ "$(cat "$T/why")" = shell/nothing.c ]
is $? "a file that does not exist would be found"
for walk in "A decision" "A change" "An event" "A shell line"; do
	sed -n "/^## $walk\$/,/^## /p" $doc | grep -oE '^[0-9]+\. `[^`]+`' >"$T/why"
	[ "$(wc -l <"$T/why")" -ge 5 ]
	is $? "$walk: a walk of at least five files"
done
sed -n 's/^\([a-z/]*\):.*/\1/p' layers.txt | grep -vE '^(circle|public)$' | while read -r room; do
	for up in "$room" "${room%/*}" "${room%%/*}"; do
		grep -q "^| \`$up\` |" $doc && continue 2
	done
	echo "$room"
done >"$T/why"
[ ! -s "$T/why" ]
is $? "each room of layers.txt has a row, or the room above it"
awk -f docs/rooms.awk layers.txt | diff docs/architecture.svg - >"$T/why"
is $? "the picture is made from layers.txt (make docs)"
echo "1..$n"
