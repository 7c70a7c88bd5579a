#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/words.awk refuses one line more that looks for the words of a message than there may be.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
lint() { LC_ALL=C awk -f "$TOP/lint/words.awk" -v MOST=1 x.t >out; }
cat >x.t <<'END'
# grep -q "a comment is no assertion" out
grep -q "the store has no image" reply
grep -q '"code":"unchangeable"' out && grep -q "three words only" out
awk '/the store has no image/' out
END
lint
ok "as many as there may be" $?
echo 'await grep -q '"'agents write the keys again'"' log' >>x.t
! lint && grep -qx "x.t:5: .*" out && tail -n 1 out | grep -q "^2 lines "
ok "one more is refused and shown" $?
echo "1..$tests"
[ "$wrong" -eq 0 ]
