#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# A request to many sites shows its progress on a terminal while the sites answer, and
# removes it at the end; a request to few sites shows none.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "progress of a request"
enter_store
store_of progress
python3 "$TOP/test/integration/fleet_progress.py" "$S" "$fleet" 12 >few 2>&1
! grep -q "of 12 sites" few && [ -s few ]
ok "12 sites: no progress" $?
python3 "$TOP/test/integration/fleet_progress.py" "$S" "$fleet" 20 >many 2>&1
tr '\r' '\n' <many >lines
sed -n 's/^\[#* *\] \([0-9]*\) of 20 sites.*/\1/p' lines >steps
[ "$(wc -l <steps)" -ge 2 ] && sort -nc steps
ok "20 sites: how many have answered, more each time" $?
[ "$(tail -1 steps)" -lt 20 ] && grep -q "$(printf '\r\033\[K')" many
ok "which is removed when all have" $?
! tail -1 lines | grep -q " of 20 sites"
ok "and the answer follows" $?
