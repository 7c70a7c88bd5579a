#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Rollouts over several jobs without a job: which jobs a pattern names, what a plan may
# say of its steps, how long a job that has passed is
# guarded at a time, and which rollouts end with the rollout of all jobs.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
part() { T=$T lua_run "$TOP/test/integration/rollout_jobs.lua" "$1" >"$T/why" 2>&1; }
part patterns
ok "patterns may name the same job; one that names none is an error" $?
part min_samples
ok "min_samples is refused in steps of jobs, which would ignore it" $?
part hold
ok "a job that has passed is guarded for as long as a block may last" $?
part orphan
ok "a job's rollout ends with all, even if the runner died when it began that" $?
