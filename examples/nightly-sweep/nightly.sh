#!/bin/sh
# SPDX-License-Identifier: MIT
# nightly.sh FOLDER [FIELD=VALUE...]: sweep the job of NCCLBPF_JOB, keep the
# table in FOLDER/nightly.csv, say what differs from the one before.
set -u
here=$(dirname "$0")
to=$1
mkdir -p "$to" || exit 73
new=$to/new.csv
rm -f "$new"
ncclbpf-shell -o table sweep start "${PLAN:-$here/plan.lua}" out="$new"
rc=$?
[ $rc -eq 0 ] || exit $rc
if [ ! -e "$new" ]; then
	echo "the baseline is best: no table"
	exit 0
fi
if [ -e "$to/nightly.csv" ]; then
	ncclbpf-shell -o table policy diff "$to/nightly.csv" "$new"
else
	ncclbpf-shell -o table policy build "$new" out="$to/nightly.policy" name=nightly
fi
mv "$new" "$to/nightly.csv"
