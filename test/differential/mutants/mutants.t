#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# Every check and every label of the verifier, switched off in turn, makes a
# test fail, and so does every 30th of the conditions that are weakened (make
# soak: all). Those where no test can notice are listed with the reason in
# test/differential/mutants/survivors.txt and lax.txt; make mutants prints who noticed which.
if ! [ -x /usr/bin/python3 ]; then
	echo "1..0 # SKIP mutants of the verifier: python3 is missing"
	exit 0
fi
cd "$TOP" || exit 70
make -s B="$B" mutants-build >"$B/test/differential/mutants.log" 2>&1 &&
	make -s B="$B" MUTANT_KINDS="refuse label weigh lax" MUTANT_SAMPLE=30 \
		mutants-table >>"$B/test/differential/mutants.log" 2>&1 || {
	tail -20 "$B/test/differential/mutants.log"
	echo "not ok 1 - mutants of the verifier are made"
	echo 1..1
	exit 1
}
exec awk -f test/differential/mutants/check.awk test/differential/mutants/rules.txt \
	test/differential/mutants/survivors.txt \
	test/differential/mutants/lax.txt "$B/test/differential/mutants/table.txt"
