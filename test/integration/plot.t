#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Pictures in characters: fixed numbers against test/corpus/golden/shell/plot.txt, in
# 40 and 80 columns, ASCII and UTF-8; and what the shell takes from the locale.
# GOLDEN=write makes the file.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
golden=$TOP/test/corpus/golden/shell/plot.txt
cd "$T" || exit 1
lua_run "$TOP/test/integration/plot.lua" >got 2>why
ok "pictures fit their width" $?
[ "${GOLDEN:-}" = write ] && cp got "$golden"
diff -u "$golden" got >why
ok "and are those of the golden file" $?
lua_run "$TOP/test/integration/report_make.lua" .
for locale in C C.UTF-8; do
	LC_ALL=$locale COLUMNS=60 "$S" rollout status data=one.json plot=yes >$locale.out 2>why
	ok "a rollout's arms, $locale" $?
	awk 'length($0) > 180 { exit 1 }' $locale.out && grep -q 'candidate' $locale.out &&
		grep -q '64M' $locale.out
	ok "in 60 columns, $locale" $?
done
! LC_ALL=C grep -q '[^ -~]' C.out
ok "plain ASCII where there is no UTF-8" $?
grep -q '├' C.UTF-8.out
ok "and lines where there is" $?
status 64 "no such picture" rollout status data=one.json plot=maybe
