#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# Decision tables decide as their rows read one after the other do, and every fault of a text has
# its place: test/integration/table_rows.lua has the cases. TABLES=N TABLE_SEED=S: N random tables.
. "$TOP/test/integration/shell_lib.sh"
lua_run "$TOP/test/integration/table_rows.lua"
rc=$?
rm -rf "$T"
exit $rc
