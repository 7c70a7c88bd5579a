#!/bin/sh
# SPDX-License-Identifier: MIT
# into.sh MARK DOC: the table on stdin goes between <!-- MARK:begin ... --> and
# <!-- MARK:end --> of DOC.
set -eu
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cat >"$T/table"
grep -q "^<!-- $1:end" "$2"
[ -s "$T/table" ]
awk -v mark="$1" -v table="$T/table" '
	index($0, "<!-- " mark ":end") == 1 { skip = 0 }
	!skip { print }
	index($0, "<!-- " mark ":begin") == 1 { print ""
		while ((getline line <table) > 0) print line
		print ""; skip = 1 }' "$2" >"$T/doc"
cat "$T/doc" >"$2"
