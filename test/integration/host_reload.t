#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# Policies exchanged under load, by processes and by threads; host_reload_abis.t has the other
# interfaces and longer runs.
. "$TOP/test/integration/host_reload_lib.sh"
ROUNDS=2 COMMS=100 MOVED=2
run "v5, 8 processes" 2.28.9 8 --procs --ahead 200
run "v6, 8 processes" 2.30.7 8 --procs --events --ahead 50
churn "v5, new communicators" 2.28.9
echo "1..$n"
exit $bad
