#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# docs/architecture.md: the files and functions it names exist, it has a row for each room,
# and its picture is the one that lint/layers.txt makes.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$TOP" || exit 1
doc=docs/architecture.md
. "$TOP/test/tap.sh"
log=$T/why
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
say $? "all files and folders that it names exist"
sed 's|`shell/edit.c`|`shell/nothing.c`|' $doc >"$T/doc"
missing "$T/doc"
[ $? -ne 0 ] && [ "$(cat "$T/why")" = shell/nothing.c ]
say $? "a file that does not exist would be found"
# The steps of a walk, as lines "file function".
steps() { # file
	sed -nE 's/^[0-9]+\. `([^`]+)` \(`([^`]+)`\):.*/\1 \2/p' "$1"
}
absent() { # file: steps whose file does not have the function
	steps "$1" | while read -r path function; do
		grep -qF -e "$function(" -e "$function {" -e "$function = errors.catch(" "$path" ||
			echo "$path: no $function"
	done >"$T/why"
	[ ! -s "$T/why" ]
}
walks=$(awk '/^## / { name = substr($0, 4) } /^[0-9]+\. / && !seen[name]++ { print name }' $doc)
echo "$walks" | while read -r walk; do
	sed -n "/^## $walk\$/,/^## /p" $doc >"$T/walk"
	[ "$(steps "$T/walk" | wc -l)" -ge 5 ] &&
		[ "$(steps "$T/walk" | wc -l)" -eq "$(grep -cE '^[0-9]+\. ' "$T/walk")" ] ||
		echo "$walk"
done >"$T/why"
[ ! -s "$T/why" ] && [ "$(echo "$walks" | wc -l)" -ge 7 ]
say $? "each walk has five steps or more, and each step a file and a function"
absent $doc
say $? "the files have these functions"
sed 's/(`nb_decide`)/(`nb_nothing`)/' $doc >"$T/doc"
absent "$T/doc"
[ $? -ne 0 ] && [ "$(cat "$T/why")" = "plugin/tuner/decide.h: no nb_nothing" ]
say $? "a function that does not exist would be found"
for room in $(sed -n 's/^\(plugin\/[a-z/]*\):.*/\1/p' lint/layers.txt); do
	case $room in
	plugin/runtime | plugin/wrap | plugin/env | plugin/comm) continue ;;
	plugin/controller | plugin/net | plugin/process) continue ;;
	esac
	grep -qE "$room/[a-z_]+\.[ch]" $doc || echo "$room"
done >"$T/why"
[ ! -s "$T/why" ]
say $? "the plugin's other rooms have files in the walks"
sed -n 's/^\([a-z/]*\):.*/\1/p' lint/layers.txt | grep -vE '^(circle|public)$' |
	while read -r room; do
	for up in "$room" "${room%/*}" "${room%%/*}"; do
		grep -q "^| \`$up\` |" $doc && continue 2
	done
	echo "$room"
done >"$T/why"
[ ! -s "$T/why" ]
say $? "each room of lint/layers.txt has a row, or the room above it"
awk -f docs/rooms.awk lint/layers.txt | diff docs/architecture.svg - >"$T/why"
say $? "the picture is made from lint/layers.txt (make docs)"
echo "1..$n"
exit $bad
