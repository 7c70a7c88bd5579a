#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/capabilities.py: a capability without a quick suite of that tier, or with a mutant of a line
# that is not there, is found.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
list() { printf '%s\n' "$@" >x.txt; }
takes() { python3 "$TOP/lint/capabilities.py" "$T/x.txt" >why 2>&1; }
refuses() { # NAME TEXT
	! takes && grep -qF "$2" why
	ok "$1" $?
}
what="capability: errors have a text"
line=$(grep -n 'err->code = ' "$TOP/core/base/err.c" | head -1 | cut -d: -f2- |
	sed 's/^[	 ]*//')
mutant="mutant: core/base/err.c: $line => ;"
list "$what" "quick: unit-store" "full: fleet" "$mutant"
takes
ok "a quick suite, a full one and a mutant" $?
list "$what" "quick: fleet" "full: fleet" "$mutant"
refuses "a quick suite of another tier" "x.txt:2: fleet is of the tier full, not quick"
list "$what" "quick: unit-stores" "full: fleet" "$mutant"
refuses "a suite that is not there" "no suite is called unit-stores"
list "$what" "quick: unit-store" "$mutant"
refuses "no full suite" "quick:, full: and mutant: are needed"
list "$what" "quick: unit-store" "full: fleet" "mutant: core/base/err.c: no such line => ;"
refuses "a mutant of a line that is not there" "'no such line' occurs 0 times"
