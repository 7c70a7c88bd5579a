#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Policies exchanged under load: every interface, as threads and as processes. ROUNDS, COMMS and
# MOVED (host_reload_lib.sh) of the environment make it longer.
. "$TOP/test/integration/host_reload_lib.sh"
ROUNDS=${ROUNDS:-2} COMMS=${COMMS:-200} MOVED=${MOVED:-4}
run "v5, 8 processes" 2.28.9 8 --procs --ahead 200
run "v5, 8 threads" 2.28.9 1 --threads --ahead 200
run "v5, 8 ranks on one thread" 2.28.9 1 --ahead 8
run "v6, 8 processes" 2.30.7 8 --procs --events --ahead 50
run "v7, 8 processes" 2.32.6 8 --procs --events --ahead 50
run "v4, 8 processes" 2.24.3 8 --procs
run "v4 with the profiler, 8 processes" 2.27.3 8 --procs --events --ahead 50
run "v4 with the profiler, 8 threads" 2.27.3 1 --threads --events --ahead 50
run "v3, 8 threads" 2.22.3 1 --threads
run "v2, 8 ranks on one thread" 2.21.5 1
churn "v5, new communicators" 2.28.9
churn "v4, two equal communicators at a time" 2.24.3 --groups 2
churn "v4 with the profiler, new communicators" 2.27.3 --events
echo "1..$n"
exit $bad
