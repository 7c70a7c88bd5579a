#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# As nccl_real.t: eight ranks, more changes, and ranks that are threads of one process.
. "$TOP/test/integration/nccl_real_lib.sh"
RANKS=8 CHANGES=${CHANGES:-6}
events "events of 1 process x 2" --ranks 2
live "8 processes" --procs
live "1 process x 8"
echo "1..$n"
exit $bad
