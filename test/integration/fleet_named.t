#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 300  needs: etcd
# fleet.t with NCCL 2.27, whose profiler names the communicators.
HOST="--nccl 2.27.3 --events" exec "$TOP/test/integration/fleet.t"
