#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# make layers: rooms of made-up trees. A cycle, a missing row and an arrow up
# fail; the nearest tree without the fault passes.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
mkdir -p low mid top
n=0
check() { # status, text or "", name
	awk -f "$TOP/lint/layers.awk" layers.txt $(find . -name '*.[ch]' | sed 's|^\./||') >out 2>&1
	rc=$?
	n=$((n + 1))
	if [ $rc -eq "$1" ] && grep -q -e "$2" out || { [ $rc -eq "$1" ] && [ -z "$2" ]; }; then
		echo "ok $n - $3"
	else
		echo "not ok $n - $3"
		sed 's/^/# /' out
	fi
}
rows() { # rows of layers.txt
	printf '%s\n' "$@" >layers.txt
}
echo '#include "low/a.h"' >mid/b.h
echo '#include "mid/b.h"' >top/c.c
echo 'int a;' >low/a.h
rows 'low:' 'mid: low' 'top: mid'
check 0 '' "arrows that all run one way"
rows 'low: top' 'mid: low' 'top: mid'
check 1 'cycle: low -> top -> mid -> low' "a cycle of rooms"
rows 'circle: low mid top' 'low: top' 'mid: low' 'top: mid'
check 0 '' "a cycle that is tolerated by name"
rows 'circle: low mid' 'low: mid top' 'mid: low' 'top: mid'
check 1 'cycle: circle1 -> top -> circle1' "a circle row that names two of three"
rows 'circle: low mid' 'low:' 'mid: low' 'top: mid'
check 1 'circle 1 is none any more' "a circle row without a cycle"
rows 'low:' 'top: mid low'
check 1 'mid/b.h: folder mid has no row' "a room without a row"
rows 'low:' 'mid: low' 'top: mid' 'roof: top'
check 1 'roof: no file is in it' "a row without a file"
rows 'low:' 'mid: low bottom' 'top: mid'
check 1 'mid: there is no room bottom' "a row with an unknown room"
rows 'low:' 'mid: low' 'top: low'
check 1 'top/c.c:1: top may not include mid' "an include outside the row"
rows 'low:' 'mid: low' 'top: mid low'
check 0 '' "a row that allows more than is used"
mkdir plugin plugin/abi
echo 'int d;' >plugin/abi/d.c
rows 'low:' 'mid: low' 'top: mid' 'plugin/abi:'
check 0 '' "a file in a room of plugin/"
echo 'int e;' >plugin/e.c
check 1 'plugin/e.c: folder plugin has no row' "a file directly in plugin/"
rm -r plugin
mkdir core
echo 'int f;' >core/f.h
echo 'int g;' >core/g.h
echo '#include "core/f.h"' >top/c.c
rows 'public: core/f.h' 'core:' 'low:' 'mid: low' 'top: core'
check 0 '' "an include of a public header of core"
echo '#include "core/g.h"' >top/c.c
check 1 'top/c.c:1: core/g.h is not public' "an include of an inner header of core"
check 1 'core/f.h is public, but nothing' "a public header that nobody includes"
rows 'public: core/' 'core:' 'low:' 'mid: low' 'top: core'
check 0 '' "a folder of public headers"
echo '#include "core/g.h"' >core/h.c
rm top/c.c
rows 'core:' 'low:' 'mid: low'
check 0 '' "an inner header, included inside core"
(cd "$TOP" && awk -f lint/layers.awk lint/layers.txt \
	$(find core lua plugin shell policies examples/embed \
	-name '*.[ch]' -not -path '*/tool/*') >"$T/out" 2>&1)
rc=$?
n=$((n + 1))
[ $rc -eq 0 ] && echo "ok $n - this tree" || { echo "not ok $n - this tree"; sed 's/^/# /' out; }
echo "1..$n"
