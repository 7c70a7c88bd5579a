#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/lines.awk refuses long lines and long files, and takes the nearest shorter ones.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
lint() { LC_ALL=C awk -f "$TOP/lint/lines.awk" x.c y.c >out; }
takes() { # NAME
	lint
	ok "$1" $?
}
refuses() { # NAME TEXT
	! lint && grep -qxF "$2" out && ! grep -q '^lines: ' out
	ok "$1" $?
}
line() { printf '%*s\n' "$1" x; }
line 100 >x.c
line 100 >y.c
takes "a line of 100 columns"
line 101 >>y.c
refuses "a line of 101" "y.c:2: 101 columns, 100 allowed"
printf 'a\t\t%*s\n' 84 x >y.c
takes "a tab goes to the next multiple of 8"
printf 'a\t\t%*s\n' 85 x >y.c
refuses "a tab makes a line too long" "y.c:1: 101 columns, 100 allowed"
printf '%*s–\n' 99 x >y.c
takes "a character of three bytes is one column"
printf '%*s–\n' 100 x >y.c
refuses "101 characters" "y.c:1: 101 columns, 100 allowed"
echo "---@field x $(line 100)" >y.c
takes "a long annotation of Lua"
seq 800 >y.c
takes "a file of 800 lines"
seq 801 >y.c
refuses "a file of 801" "y.c:801: over 800 lines"
: >y.c
takes "an empty file"
echo "1..$tests"
[ "$wrong" -eq 0 ]
