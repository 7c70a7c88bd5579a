#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# As nccl_real.t: eight ranks, more changes, and ranks that are threads of one process. RCCL
# gets four ranks: at its start each sends 107 MB to each other one.
. "$TOP/test/integration/nccl_real_lib.sh"
RANKS=8 CHANGES=${CHANGES:-6}
[ -z "$rccl" ] || RANKS=4
events "events of 1 process x 2" --ranks 2
live "$RANKS processes" --procs
live "1 process x $RANKS"
echo "1..$n"
exit $bad
